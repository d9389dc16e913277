// Progressive extras only: every page works without this file.
(() => {
  const root = document.documentElement;
  const year = 365 * 24 * 3600;

  function remember(name, value) {
    document.cookie = `${name}=${value}; path=/; max-age=${year}; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
  }

  // Theme: the button is a form that works alone; here it switches without a round trip.
  function switchTheme(button) {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    remember("theme", root.dataset.theme);
    document.querySelectorAll("[data-theme-switch]").forEach((each) => (each.value = dark ? "dark" : "light"));
    button.dispatchEvent(new CustomEvent("themechange", { bubbles: true, detail: root.dataset.theme }));
  }

  function openDialog(id) {
    const dialog = document.getElementById(id);
    if (dialog && !dialog.open) dialog.showModal();
    return Boolean(dialog);
  }

  document.addEventListener("click", (event) => {
    const theme = event.target.closest("[data-theme-switch]");
    if (theme) {
      event.preventDefault();
      return switchTheme(theme);
    }
    const opener = event.target.closest("[data-dialog]");
    if (opener && openDialog(opener.dataset.dialog)) return event.preventDefault();
    if (event.target instanceof HTMLDialogElement && event.target.open) event.target.close();
    document.querySelectorAll("details.menu[open], details.navmenu[open]").forEach((menu) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  });

  // Keyboard. Single keys never fire while one types, and a switch on the account page turns them off.
  let prefix = "";
  let prefixTimer = 0;

  function pressed(key) {
    const chord = prefix ? `${prefix} ${key}` : key;
    clearTimeout(prefixTimer);
    prefix = "";
    if (key === "g" && chord === "g") {
      prefix = "g";
      prefixTimer = setTimeout(() => (prefix = ""), 1200);
      return false;
    }
    if (chord === "?") return openDialog("keys");
    const target = document.querySelector(`[data-key="${CSS.escape(chord)}"]`);
    if (!target) return false;
    if (target.matches("input")) target.focus();
    else target.click();
    return true;
  }

  function closeMenus() {
    document.querySelectorAll("details.menu[open], details.navmenu[open]").forEach((menu) => {
      menu.open = false;
      menu.querySelector("summary").focus();
    });
  }

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") {
      const save = document.querySelector("[data-save]");
      if (save) {
        event.preventDefault();
        save.click();
      }
      return;
    }
    if (event.key === "Escape") return closeMenus();
    if (root.dataset.keys === "off" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea, [contenteditable], dialog")) return;
    if (pressed(event.key)) event.preventDefault();
  });

  // Inputs: mark what differs and what is wrong as the server says, without touching what is being typed.
  function markFields() {
    const foot = document.querySelector("[data-changed-fields]");
    if (!foot) return;
    const changed = new Set(foot.dataset.changedFields.split(" ").filter(Boolean));
    document.querySelectorAll(".field[data-name]").forEach((field) => {
      field.toggleAttribute("data-changed", changed.has(field.dataset.name));
      const message = field.querySelector(".error");
      const wrong = Boolean(message && message.textContent.trim());
      // What is wrong must be seen: every fold around it opens.
      for (let fold = wrong && field.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      field.querySelectorAll("input, select, textarea").forEach((input) => {
        if (wrong) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      });
    });
  }

  // Loading: the old content stays; a hairline tells after 400 ms.
  let busyTimer = 0;
  document.addEventListener("htmx:beforeRequest", (event) => {
    const target = event.detail.target;
    if (!target) return;
    target.setAttribute("aria-busy", "true");
    clearTimeout(busyTimer);
    busyTimer = setTimeout(() => root.setAttribute("data-busy", ""), 400);
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    clearTimeout(busyTimer);
    root.removeAttribute("data-busy");
    if (event.detail.target) event.detail.target.removeAttribute("aria-busy");
    const status = document.getElementById("status");
    if (!status || event.detail.successful || event.detail.xhr.status === 422) return;
    if (event.detail.xhr.status === 0) status.textContent = root.dataset.offline || "The server did not answer; the last result stays.";
  });
  document.addEventListener("htmx:afterSettle", markFields);

  // Folds that are open stay open when new results come in.
  const foldKey = (fold) => [fold.closest("[id]")?.id, fold.closest("figure")?.querySelector("h3")?.textContent, fold.querySelector("summary")?.textContent.trim()].join(" ");
  let openFolds = new Set();
  document.addEventListener("htmx:beforeSwap", (event) => {
    openFolds = new Set([...event.detail.target.querySelectorAll("details[open]:not(.menu)")].map(foldKey));
  });
  document.addEventListener("htmx:afterSwap", () => {
    document.querySelectorAll("#result details:not([open])").forEach((fold) => (fold.open = openFolds.has(foldKey(fold))));
  });

  // Enter in a number asks for the answer now; without this file it sends the form.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !event.target.matches(".inputs input")) return;
    event.preventDefault();
    event.target.dispatchEvent(new Event("input", { bubbles: true }));
  });

  // The stronger wish wins: a select that fills the form sends it, a button in the list keeps working alone.
  document.addEventListener("change", (event) => {
    const fill = event.target.closest("[data-submit-on-change]");
    if (fill) document.getElementById(fill.dataset.submitOnChange).click();
  });

  // Options of a run: those that another one makes meaningless are not shown, and not sent.
  function showOptions() {
    document.querySelectorAll("[data-only-with]").forEach((option) => {
      const other = document.getElementById(option.dataset.onlyWith);
      const values = option.dataset.values.split(" ").filter(Boolean);
      const applies = other && !other.disabled && (values.length ? values.includes(other.value) : other.value.trim());
      option.hidden = !applies;
      option.querySelectorAll("input, select").forEach((input) => (input.disabled = option.hidden));
    });
  }
  document.addEventListener("input", (event) => event.target.closest(".opt") && showOptions());
  document.addEventListener("htmx:afterSettle", showOptions);
  showOptions();

  // Copy a link or a token from beside it.
  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (!copy) return;
    const source = document.getElementById(copy.dataset.copy);
    await navigator.clipboard.writeText(source.value || source.textContent);
    document.getElementById("status").textContent = copy.dataset.copied;
    copy.textContent = copy.dataset.copied;
  });

  // On a phone the input groups start closed: their summaries read as the design in six lines.
  if (matchMedia("(max-width: 40rem)").matches) {
    document.querySelectorAll(".inputs .group[open]:not([data-wrong])").forEach((group) => (group.open = false));
  }
})();
