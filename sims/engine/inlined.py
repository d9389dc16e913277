"""How a handler is compiled: only so far that a loop can take it in.

numba optimises every function in full and makes machine code of it, also of one that is inlined wherever it is called.
That is a quarter of the time that compiling a large loop takes, for code that never runs. This uses what numba calls
its inside: the tests of this file fail should a new version change it.
"""

# mypy: allow-untyped-calls
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core import codegen, compiler, typed_passes
from numba.core.compiler_machinery import register_pass

INLINES = 0
"""The level of LLVM's passes that inlines and does next to nothing else."""


def _in_place_of_code(name: str) -> Callable[..., object]:
    """Callers find a function by an object that is no other's, and Python runs it: this one tells what is wrong.

    numba takes only what is written in C, with arguments and keywords. ``str.format`` is, and answers with an error
    that has the text when this is not the name of an attribute.
    """
    return f"{{0.{name}, which only loops call; Python goes in through from_python}}".format


class _ToLinkOnly(codegen.JITCodeLibrary):
    """The code of a handler for those who link it in, and no machine code.

    What the handler calls is inlined; all other passes over the whole run once, on the loop.
    """

    def _optimize_final_module(self) -> None:
        made = self._codegen._module_pass_manager  # noqa: SLF001 - as numba's own libraries make theirs
        passes, builder = made(loop_vectorize=False, slp_vectorize=False, opt=INLINES, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed_passes.NativeLowering):
    """Lowers a handler, and tells its callers where to find it."""

    _name = "lower_to_be_inlined"

    def run_pass(self, state: Any) -> bool:
        state.library = _ToLinkOnly(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        address = _in_place_of_code(state.func_id.func_name)
        state.targetctx.insert_user_function(address, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=address)
        return True


class InlinedCompiler(compiler.CompilerBase):
    """numba's pipeline with this lowering at its end."""

    def define_pipelines(self) -> list[Any]:
        made = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        made.passes = [(_Lowering if one is typed_passes.NativeLowering else one, about) for one, about in made.passes]
        made.finalize()
        return [made]
