// Moves one cursor through the strips of a run and reads off what they say there. Without it the strips stand still.
(() => {
  const TICK_S = 1; // with reduced motion it goes in steps of a second

  function start(board) {
    const block = document.getElementById(board.dataset.board);
    const slider = board.querySelector("input[type=range]");
    if (!block || !slider || board.dataset.ready) return;
    board.dataset.ready = "yes";
    const { x, clock, texts } = JSON.parse(block.textContent);
    const rows = [...board.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("td.n")]);
    const names = [...board.querySelectorAll("tbody th")].map((head) => head.firstChild.textContent);
    const cursors = [...board.querySelectorAll("svg.run")].map((svg) => {
      const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
      line.setAttribute("class", "now");
      svg.append(line);
      return line;
    });
    const output = board.querySelector("output");
    const play = board.querySelector("[data-play]");
    const speed = board.querySelector("select");
    const words = { play: play.textContent, stop: play.dataset.stop };
    let timer = 0;

    // One step of a key is one sample; a hair less, so that rounding never keeps the last one out of reach.
    slider.min = 0;
    slider.max = x[x.length - 1];
    slider.step = ((x[x.length - 1] - x[0]) / (x.length - 1)) * (1 - 1e-9);
    slider.value = slider.max;

    function placeOf(at) {
      let low = 0, high = x.length - 1;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (x[middle] <= at + 1e-6) low = middle;
        else high = middle - 1;
      }
      return low;
    }

    function show() {
      const at = Number(slider.value), step = Number(slider.step);
      const place = at + step > Number(slider.max) ? x.length - 1 : placeOf(at + step / 2);
      cursors.forEach((line) => line.setAttribute("d", `M${x[place]} 0V40`));
      rows.forEach((cells, strip) => cells.forEach((cell, run) => (cell.textContent = texts[strip][run][place] ?? "—")));
      output.textContent = clock[place];
      const said = names.map((name, strip) => `${name} ${texts[strip].map((run) => run[place] ?? "—").join(", ")}`);
      slider.setAttribute("aria-valuetext", [clock[place], ...said].join("; "));
    }

    function go(at) {
      slider.value = at;
      show();
    }

    function stop() {
      clearInterval(timer);
      cancelAnimationFrame(timer);
      timer = 0;
      play.textContent = words.play;
      play.setAttribute("aria-pressed", "false");
    }

    function run() {
      const end = Number(slider.max), first = x[0];
      if (Number(slider.value) >= end) go(first);
      play.textContent = words.stop;
      play.setAttribute("aria-pressed", "true");
      const per_s = () => (end - first) / Number(speed.value);
      const on = (seconds) => {
        if (!board.isConnected) return stop();
        place = Math.min(end, place + seconds * per_s());
        go(place);
        if (place >= end) stop();
      };
      let place = Number(slider.value);
      if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
        timer = setInterval(() => on(TICK_S), TICK_S * 1000);
        return;
      }
      let before = performance.now();
      const frame = (now) => {
        timer = requestAnimationFrame(frame);
        on((now - before) / 1000);
        before = now;
      };
      timer = requestAnimationFrame(frame);
    }

    slider.addEventListener("input", () => (timer && stop(), show()));
    play.addEventListener("click", () => (timer ? stop() : run()));
    board.addEventListener("click", (event) => {
      const moment = event.target.closest("[data-moment]");
      if (!moment) return;
      if (timer) stop();
      go(Number(moment.dataset.moment));
      slider.focus();
    });
    board.querySelector(".scrub").hidden = false;
    show();
  }

  const find = (root) => root.querySelectorAll("[data-board]").forEach(start);
  document.addEventListener("htmx:load", (event) => find(event.detail.elt.parentElement || document));
  find(document);
})();
