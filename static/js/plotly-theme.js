// Draws neutral figures with Plotly in the colours of tokens.css, over the server's SVG of the same chart.
// Plotly (0.5 MB gzipped) is fetched only when a [data-plot] comes near the window; without it the SVG stays.
// Figures come as {"data": [...], "layout": {...}} in <script type="application/json">, a data block the CSP does not
// mind. Traces carry "series" 0..5 (or -1, neutral) instead of colours, "band" for an interval, "idle" for a tint,
// "ring" for a circle about a point ("struck" through where it fails), "places" for what each point opens: the address in "opens", and its place.
(() => {
  const DASH = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];
  const MARK = ["circle", "square", "diamond", "triangle-up", "cross", "x"];
  const NARROW_PX = 400; // 25rem: where components.css swaps the wide SVG for the narrow one
  const source = document.currentScript;
  const widths = new WeakMap();
  const heights = new WeakMap();
  let plotly = null;

  function palette() {
    const css = getComputedStyle(document.documentElement);
    const read = (name) => css.getPropertyValue(name).trim();
    return {
      series: [1, 2, 3, 4, 5, 6].map((n) => read(`--chart-${n}`)),
      ink: read("--chart-ink"), muted: read("--chart-muted"), axis: read("--chart-axis"),
      grid: read("--chart-grid"), limit: read("--chart-limit"), ground: read("--chart-ground"), font: read("--font"),
    };
  }

  const faded = (color, alpha) => color.replace("rgb(", "rgba(").replace(")", `, ${alpha})`);

  function template(c, narrow) {
    const axis = {
      automargin: true, zeroline: false, fixedrange: true, spikecolor: c.axis, spikethickness: 1, spikedash: "dot", gridcolor: c.grid, linecolor: c.axis, tickcolor: c.axis, ticklen: 4,
      separatethousands: true, title: { font: { size: 12.5 }, standoff: 8 },
    };
    return { layout: {
      colorway: c.series, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: c.font, size: 12.5, color: c.muted }, margin: { l: 40, r: narrow ? 10 : 16, t: 14, b: 36 },
      showlegend: false, hoverlabel: { bgcolor: c.ground, bordercolor: c.axis, font: { family: c.font, size: 13, color: c.ink } },
      legend: { orientation: "h", traceorder: "normal", x: 0, xanchor: "left", yref: "container", y: 1, yanchor: "top", font: { color: c.ink }, itemwidth: 30, itemclick: false, itemdoubleclick: false },
      xaxis: { ...axis, showgrid: false, showline: true, ticks: "outside" }, yaxis: { ...axis, ticks: "" },
    } };
  }

  function paint(trace, c) {
    if (trace.series === undefined) return trace;
    const { series, band, idle, front, hollow, mark, segment, ring, struck, places, ...rest } = trace;
    const color = series < 0 ? c.axis : c.series[series % 6];
    if (rest.type === "heatmap") return { ...rest, colorscale: [[0, faded(color, 0.04)], [1, color]], xgap: 1, ygap: 1 };
    if (band) return { ...rest, fill: "toself", mode: "lines", line: { width: 0 }, fillcolor: faded(color, 0.16) };
    if (front) return { ...rest, line: { color: c.ink, width: 1.5, ...rest.line } };
    const whisker = rest.error_x ? { error_x: { ...rest.error_x, color: c.muted, thickness: 1.5, width: 4 } } : {};
    if (rest.type === "bar") return { ...rest, ...whisker, marker: { color: idle ? faded(color, 0.42) : color, line: { color: c.ground, width: segment ? 1.5 : 0 } }, textfont: { color: c.ink } };
    if (ring) return { ...rest, marker: { symbol: struck ? "circle-x-open" : "circle-open", size: 19, color: c.ink, line: { color: c.ink, width: 1.3 } } };
    const point = { symbol: MARK[Math.max(series, 0) % 6], size: mark ? 10 : 8, opacity: idle ? 0.42 : 1 };
    const fill = hollow ? { color: c.ground, line: { color, width: 2 } } : { color, line: { color: c.ground, width: 1.5 } };
    return {
      ...rest, line: { color, width: 2, dash: DASH[Math.max(series, 0) % 6], ...rest.line },
      marker: { ...point, ...fill, ...rest.marker },
    };
  }

  // Half the ticks on a phone: labels would turn upright otherwise.
  function thinned(axis, narrow) {
    if (!narrow || !axis || !axis.tickvals || axis.tickvals.length < 6) return axis;
    const every = (list) => list.filter((_, index) => index % 2 === 0);
    return { ...axis, tickvals: every(axis.tickvals), ticktext: every(axis.ticktext) };
  }

  function layoutOf(spec, c, narrow, height) {
    const limit = ({ missed, ...shape }) => missed ? { ...shape, line: { width: 0 }, fillcolor: faded(c.limit, 0.06) } : ({ ...shape, line: { color: c.limit, width: 1.5, dash: "dot", ...shape.line } });
    const says = ({ says: kind, ...note }) => ({
      ...note, borderpad: 1, bgcolor: kind === "mark" || kind === "limit" ? faded(c.ground, 0.8) : "rgba(0,0,0,0)",
      font: { color: { limit: c.limit, value: c.ink, mark: c.ink }[kind] || c.muted, weight: kind === "mark" ? 600 : 400 },
    });
    return {
      ...spec.layout, template: template(c, narrow), autosize: true,
      height,
      xaxis: thinned(spec.layout.xaxis, narrow), shapes: (spec.layout.shapes || []).map(limit), annotations: (spec.layout.annotations || []).map(says),
    };
  }

  // The legend takes columns as wide as its widest name: more rows than one are added to the height.
  function legendRows(spec, width) {
    const names = spec.data.filter((trace) => trace.showlegend !== false && trace.name).map((trace) => trace.name.length * 6.4 + 45);
    if (!spec.layout.showlegend || names.reduce((sum, each) => sum + each, 0) <= width) return 1;
    return Math.ceil(names.length / Math.max(Math.floor(width / Math.max(...names)), 1));
  }

  function draw(place) {
    const block = document.getElementById(place.dataset.plot);
    if (!plotly || !block) return;
    const spec = JSON.parse(block.textContent);
    const c = palette();
    if (spec.layout.barmode && place.parentElement.clientWidth < NARROW_PX) return restore(place); // no room for its key
    // As tall as the SVG it replaces, so that nothing on the page moves.
    const height = pictures(place).reduce((tallest, svg) => Math.max(tallest, svg.getBoundingClientRect().height), heights.get(place) || 0);
    heights.set(place, height);
    place.hidden = false;
    const width = place.clientWidth;
    const tall = Math.max(height, Math.min(spec.layout.height, 220)) + 19 * (legendRows(spec, width) - 1);
    place.style.height = `${tall}px`; // kept when the window is resized
    widths.set(place, width < NARROW_PX);
    const options = { displayModeBar: false, responsive: true, scrollZoom: false, doubleClick: false };
    plotly.react(place, spec.data.map((trace) => paint(trace, c)), layoutOf(spec, c, width < NARROW_PX, tall), options)
      .then(() => {
        pictures(place).forEach((svg) => svg.toggleAttribute("hidden", true));
        if (spec.opens) opening(place, spec);
      })
      .catch(() => restore(place));
  }

  // Points that open something: by a click, or with the arrow keys along the strong ones and Enter.
  function opening(place, spec) {
    const address = (curve, point) => `${spec.opens}${spec.data[curve].places[point]}/`;
    const strong = spec.data.flatMap((trace, curve) => (trace.places && !trace.idle ? trace.places.map((_, point) => ({ curve, point, x: trace.x[point] })) : []));
    strong.sort((a, b) => a.x - b.x);
    let at = -1;
    place.classList.add("opens");
    place.tabIndex = 0;
    place.removeAllListeners("plotly_click");
    place.on("plotly_click", ({ points: [{ curveNumber, pointNumber }] }) => {
      if (spec.data[curveNumber].places) location.assign(address(curveNumber, pointNumber));
    });
    place.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step && strong.length) {
        at = Math.min(Math.max(at + step, 0), strong.length - 1);
        plotly.Fx.hover(place, [{ curveNumber: strong[at].curve, pointNumber: strong[at].point }]);
        const said = document.getElementById("status");
        if (said) said.textContent = spec.data[strong[at].curve].text?.[strong[at].point] || "";
      } else if (event.key === "Enter" && at >= 0) location.assign(address(strong[at].curve, strong[at].point));
      else return;
      event.preventDefault();
    };
  }

  const pictures = (place) => [...place.parentElement.children].filter((each) => each.tagName.toLowerCase() === "svg");
  function restore(place) {
    place.hidden = true;
    pictures(place).forEach((svg) => svg.toggleAttribute("hidden", false));
  }

  // The bundle and its sheet, once, from this server.
  let loading = null;
  function load() {
    loading ||= new Promise((done, failed) => {
      const sheet = Object.assign(document.createElement("link"), { id: "plotly.js-style-global", className: "no-inline-styles", rel: "stylesheet", href: source.dataset.sheet });
      const script = Object.assign(document.createElement("script"), { src: source.dataset.plotly, onload: () => done(window.Plotly), onerror: failed });
      sheet.addEventListener("load", () => document.head.append(script));
      sheet.addEventListener("error", failed);
      document.head.append(sheet);
    });
    return loading;
  }

  const near = new IntersectionObserver((entries) => {
    const wanted = entries.filter((entry) => entry.isIntersecting).map((entry) => entry.target);
    if (!wanted.length) return;
    wanted.forEach((figure) => near.unobserve(figure));
    load().then((bundle) => {
      plotly = bundle;
      wanted.filter((figure) => figure.isConnected).forEach((figure) => {
        figure.querySelectorAll("[data-plot]").forEach((place) => (draw(place), sized.observe(place)));
      });
    }, () => {});
  }, { rootMargin: "200px" });

  const sized = new ResizeObserver((entries) => entries.forEach(({ target }) => {
    if (target.hidden || widths.get(target) === target.clientWidth < NARROW_PX) return;
    heights.delete(target);
    draw(target);
  }));

  const drawn = () => [...document.querySelectorAll("[data-plot]:not([hidden])")];
  const redraw = () => drawn().forEach(draw);

  function find(root) {
    root.querySelectorAll("[data-plot][hidden]").forEach((place) => near.observe(place.parentElement));
    root.querySelectorAll("[data-csv][hidden]").forEach((button) => (button.hidden = false));
  }

  // A table of a chart as a file: the cells carry the full figures.
  function saved(button) {
    const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
    const cell = (each) => quoted(each.dataset.full ?? each.textContent);
    const rows = [...button.closest(".twin").querySelectorAll("tr")].map((row) => [...row.cells].map(cell).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([rows.join("\r\n"), "\r\n"], { type: "text/csv" }));
    link.download = button.dataset.csv;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-csv]");
    if (button) saved(button);
  });
  document.addEventListener("htmx:load", (event) => find(event.detail.elt.parentElement || document));
  document.addEventListener("htmx:beforeCleanupElement", (event) => {
    if (plotly && event.target.matches?.("[data-plot]:not([hidden])")) plotly.purge(event.target);
  });
  // Paper takes the SVG: it is light, sharp, and keeps its size.
  addEventListener("beforeprint", () => drawn().forEach(restore));
  addEventListener("afterprint", () => document.querySelectorAll("[data-plot][hidden]").forEach((place) => widths.has(place) && draw(place)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  find(document);
})();
