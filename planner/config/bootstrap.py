"""Makes `.venv`, installs the locked requirements into it and hands over to the program named.

Run by the system's Python, before anything is installed, so it speaks the syntax of old Pythons and imports
only the standard library:

    python3 planner/config/bootstrap.py REQUIREMENTS -- ARGUMENTS...

runs `.venv/bin/python ARGUMENTS...` with `requirements/REQUIREMENTS.txt` installed.
"""

import hashlib
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin", "python")
NEEDED = (3, 11)
# Larger sets contain the smaller ones, so a folder that holds "dev" also runs "local".
SETS = ("base", "local", "dev")


def stop(sentence):
    """End with one sentence that says what to do."""
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


def say(sentence):
    sys.stdout.write(sentence + "\n")
    sys.stdout.flush()


def dotted(version):
    return f"{version[0]}.{version[1]}"


def find_newer_python():
    """A Python on the PATH that is new enough, or None."""
    for minor in (14, 13, 12, 11):
        found = shutil.which(f"python3.{minor}")
        if found and subprocess.call([found, "-c", "import venv"], stderr=subprocess.DEVNULL) == 0:
            return found
    return None


def check_python():
    if sys.version_info[:2] >= NEEDED:
        return
    newer = find_newer_python()
    if newer:
        os.execv(newer, [newer, *sys.argv])
    stop(
        f"Python {dotted(NEEDED)} or newer is needed and this is {dotted(sys.version_info)}: install it (python.org, "
        "your package manager) and run `make run PYTHON=/path/to/python3.11`."
    )


def make_venv():
    if os.path.exists(PYTHON):
        return
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        stop(
            "This Python has no `venv` module: install it (on Debian and Ubuntu "
            f"`apt install python{dotted(sys.version_info)}-venv`) and run the command again."
        )
    say(f"Making .venv with Python {dotted(sys.version_info)} ...")
    try:
        status = subprocess.call([sys.executable, "-m", "venv", VENV])
    except OSError as problem:
        stop(f"Cannot make .venv: {problem}. Check that this folder is writable.")
    if status != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        stop(f"Making .venv failed: check that {ROOT} is writable and has free space, then run the command again.")


def digest(name):
    with open(os.path.join(ROOT, "requirements", name + ".txt"), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def installed(name):
    """Whether this set of requirements, or a larger one, is installed as locked."""
    for larger in SETS[SETS.index(name) :]:
        stamp = os.path.join(VENV, "installed-" + larger)
        if os.path.exists(stamp):
            with open(stamp) as file:
                if file.read() == digest(larger):
                    return True
    return False


def install(name):
    if installed(name):
        return
    say("Installing the locked requirements (once, about a minute) ...")
    command = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    if subprocess.call([*command, "-r", os.path.join(ROOT, "requirements", name + ".txt")]) != 0:
        stop("Installing the requirements failed: see the lines above; check the network and run the command again.")
    with open(os.path.join(VENV, "installed-" + name), "w") as file:
        file.write(digest(name))


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in SETS or arguments[1] != "--":
        stop(f"Usage: python3 planner/config/bootstrap.py {'|'.join(SETS)} -- ARGUMENTS...")
    check_python()
    if not os.access(ROOT, os.W_OK):
        stop(f"The folder {ROOT} is not writable: clone the project to a folder of yours and run the command there.")
    make_venv()
    install(arguments[0])
    os.chdir(ROOT)
    os.execv(PYTHON, [PYTHON, *arguments[2:]])


if __name__ == "__main__":
    main(sys.argv[1:])
