"use strict";
// Draws the document in the element `data`: text, charts as SVG, tables that sort and filter, maps on canvas.
(() => {
  // Colours that people with colour-blindness tell apart (Okabe and Ito), and four more for long legends.
  const COLOURS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#7f7f7f", "#5e3c99", "#8c510a", "#35978f", "#c51b7d"];
  const THEIRS = "#9aa0a6";
  const SVG = "http://www.w3.org/2000/svg";
  const tip = element("div", { class: "tip", role: "status" });

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }
  function shape(name, attributes = {}, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  const style = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Numbers for people: thousands apart, as many digits as say something.
  function shown(value, decimals) {
    if (decimals === undefined) {
      const size = Math.abs(value);
      decimals = size >= 100 || Number.isInteger(value) ? 0 : size >= 1 ? 3 : 5;
    }
    return value.toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
  }
  function save(name, type, content) {
    const link = element("a", { download: name, href: URL.createObjectURL(new Blob([content], { type })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  const quoted = text => /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  const fileName = text => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "report";

  function hover(target, text) {
    const show = event => {
      tip.textContent = typeof text === "function" ? text(event) : text;
      tip.style.display = tip.textContent ? "block" : "none";
      const box = tip.getBoundingClientRect();
      tip.style.left = Math.max(4, Math.min(event.clientX + 12, innerWidth - box.width - 6)) + "px";
      tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - box.height - 6)) + "px";
    };
    target.addEventListener("pointermove", show);
    target.addEventListener("pointerdown", show);
    target.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  }

  // Round numbers around the data.
  function scale(low, high, count) {
    const span = high > low ? high - low : 1;
    const magnitude = 10 ** Math.floor(Math.log10(span / count));
    const step = [1, 2, 2.5, 5, 10].map(n => n * magnitude).find(s => span / s <= count + 1) || 10 * magnitude;
    const from = Math.floor(low / step + 1e-9) * step, ticks = [];
    for (let k = 0; from + k * step <= high + step * 0.999 && k < 40; k++) ticks.push(from + k * step);
    return { ticks, step };
  }
  function decimals(step) {
    for (let d = 0; d < 7; d++) if (Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) < 1e-6) return d;
    return 7;
  }
  const logTicks = (low, high) => {
    const ticks = [];
    for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); p++) ticks.push(10 ** p);
    return ticks;
  };

  function chart(plot) {
    const hidden = new Set();
    const box = element("div", { class: "plot" });
    const legend = element("div", { class: "legend" });
    const canvas = element("div", { class: "canvas" });
    let mine = 0;
    const colours = plot.series.map(s => s.theirs ? THEIRS : COLOURS[mine++ % COLOURS.length]);
    plot.series.forEach((series, k) => {
      const mark = element("i");
      mark.style.background = colours[k];
      if (series.theirs) mark.style.outline = "1px dashed";
      const entry = element("span", { title: "show or hide" }, mark, series.name);
      entry.addEventListener("click", () => {
        if (!hidden.delete(k)) hidden.add(k);
        entry.classList.toggle("off", hidden.has(k));
        draw();
      });
      legend.append(entry);
    });
    const tools = element("div", { class: "tools" });
    const offer = (text, work) => {
      const button = element("button", { type: "button" }, text);
      button.addEventListener("click", work);
      tools.append(button);
    };
    const name = fileName(plot.title);
    offer("SVG", () => save(name + ".svg", "image/svg+xml", picture()));
    offer("PNG", () => {
      const image = new Image();
      image.onload = () => {
        const out = element("canvas", { width: image.naturalWidth * 2, height: image.naturalHeight * 2 });
        const context = out.getContext("2d");
        context.fillStyle = style("--paper");
        context.fillRect(0, 0, out.width, out.height);
        context.drawImage(image, 0, 0, out.width, out.height);
        out.toBlob(blob => save(name + ".png", "image/png", blob));
      };
      image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(picture());
    });
    offer("CSV", () => save(name + ".csv", "text/csv", csv()));
    const picture = () => {
      const svg = canvas.querySelector("svg").cloneNode(true);
      const row = shape("g");
      let at = 8;
      plot.series.forEach((series, k) => {
        row.append(shape("rect", { x: at, y: 4, width: 10, height: 10, fill: colours[k] }));
        row.append(shape("text", { x: at + 14, y: 13, fill: style("--ink"), "font-size": 11 }, series.name));
        at += 30 + 6.4 * series.name.length;
      });
      svg.append(row);
      const width = Math.max(svg.getAttribute("width"), at);
      svg.setAttribute("width", width);
      svg.setAttribute("viewBox", `0 0 ${width} ${svg.getAttribute("height")}`);
      svg.setAttribute("font-family", "sans-serif");
      return new XMLSerializer().serializeToString(svg);
    };
    const csv = () => {
      const series = plot.series;
      if (series.some(s => s.at)) {
        const lines = ["series,name,x,y"];
        series.forEach(s => s.values.forEach((v, k) => lines.push([quoted(s.name), quoted((s.names || [])[k] || ""), (s.at || [])[k] ?? k, v ?? ""].join(","))));
        return lines.join("\n") + "\n";
      }
      const head = [quoted(plot.x), ...series.map(s => quoted(s.name))].join(",");
      return [head, ...plot.categories.map((c, k) => [quoted(c), ...series.map(s => s.values[k] ?? "")].join(","))].join("\n") + "\n";
    };
    function draw() {
      const live = plot.series.map((series, k) => ({ series, colour: colours[k] })).filter((_, k) => !hidden.has(k));
      canvas.replaceChildren(plot.kind === "lines" || plot.kind === "scatter" ? points(plot, live) : bars(plot, live));
    }
    box.append(element("h3", {}, plot.title), legend, canvas, tools);
    box.draw = draw;
    return box;
  }

  const TOP = 18, LEFT = 78, RIGHT = 30, HEIGHT = 250;
  function frame(width, below) {
    const height = TOP + HEIGHT + below;
    return shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "font-size": 11, xmlns: SVG });
  }
  function axis(svg, width, plot, y, ticks, step, below) {
    const ink = style("--ink"), grid = style("--grid");
    for (const tick of ticks) {
      svg.append(shape("line", { x1: LEFT, x2: width - RIGHT, y1: y(tick), y2: y(tick), stroke: grid }));
      const text = step ? shown(tick, decimals(step)) : shown(tick);
      svg.append(shape("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end", fill: ink }, text));
    }
    const middle = TOP + HEIGHT / 2;
    svg.append(shape("text", { x: 13, y: middle, transform: `rotate(-90 13 ${middle})`, "text-anchor": "middle", fill: ink }, plot.y));
    svg.append(shape("text", { x: (LEFT + width) / 2, y: TOP + HEIGHT + below - 6, "text-anchor": "middle", fill: ink }, plot.x));
  }
  function baseline(svg, width, plot, y) {
    if (plot.baseline === null || plot.baseline === undefined) return;
    svg.append(shape("line", { x1: LEFT, x2: width - RIGHT, y1: y(plot.baseline), y2: y(plot.baseline), stroke: style("--ink"), "stroke-dasharray": "5 3" }));
  }

  function bars(plot, live) {
    const stacked = plot.kind === "stacked", count = plot.categories.length;
    // Small charts stand side by side where there is room.
    const space = Math.min(1088, document.body.clientWidth - 30);
    const room = (space > 900 && count * live.length <= 18 ? space / 2 - 40 : space) - LEFT - RIGHT;
    const least = stacked ? 30 : live.length * 9 + 10;
    const group = Math.min(Math.max(least, room / Math.max(count, 1)), stacked ? 110 : Math.max(120, live.length * 26 + 16));
    const longest = Math.max(0, ...plot.categories.map(c => c.length));
    const flat = longest * 6.3 < group - 4;
    const below = flat ? 44 : 34 + Math.min(longest, 34) * 4.7;
    const width = LEFT + group * count + RIGHT;
    const svg = frame(width, below);
    const sums = plot.categories.map((_, k) => live.reduce((sum, { series }) => sum + (series.values[k] || 0), 0));
    const values = stacked ? sums : live.flatMap(({ series }) => series.values).filter(v => v !== null && isFinite(v));
    const { ticks, step } = scale(Math.min(0, ...values), Math.max(...values, plot.baseline || 0, 0), 6);
    const [low, high] = [ticks[0], ticks[ticks.length - 1]];
    const y = v => TOP + HEIGHT * (1 - (Math.min(Math.max(v, low), high) - low) / (high - low || 1));
    axis(svg, width, plot, y, ticks, step, below);
    const ink = style("--ink");
    const thick = stacked ? Math.min(group * 0.66, 56) : (group - 12) / Math.max(live.length, 1);
    plot.categories.forEach((category, k) => {
      const centre = LEFT + group * (k + 0.5);
      let base = 0;
      live.forEach(({ series, colour }, s) => {
        const value = series.values[k];
        if (value === null || value === undefined || !isFinite(value)) return;
        const [from, to] = stacked ? [base, base + value] : [Math.max(0, low), value];
        base += stacked ? value : 0;
        const left = stacked ? centre - thick / 2 : centre - (thick * live.length) / 2 + s * thick;
        const bar = shape("rect", { x: left, y: Math.min(y(from), y(to)), width: Math.max(thick - (stacked ? 0 : 1), 1), height: Math.max(Math.abs(y(from) - y(to)), 0.5), fill: colour, class: "bar" });
        if (series.theirs) for (const [a, v] of [["fill-opacity", 0.45], ["stroke", colour], ["stroke-dasharray", "3 2"]]) bar.setAttribute(a, v);
        const label = `${category}\n${series.name}: ${shown(value)}`;
        bar.append(shape("title", {}, label));
        hover(bar, label);
        svg.append(bar);
      });
      const at = TOP + HEIGHT + 15, text = category.length > 36 ? category.slice(0, 35) + "…" : category;
      svg.append(flat ? shape("text", { x: centre, y: at, "text-anchor": "middle", fill: ink }, text)
        : shape("text", { x: centre + 4, y: at - 3, "text-anchor": "end", transform: `rotate(-42 ${centre + 4} ${at - 3})`, fill: ink }, text));
    });
    baseline(svg, width, plot, y);
    return svg;
  }

  function points(plot, live) {
    const width = Math.min(1088, Math.max(300, document.body.clientWidth - 30)), below = 44;
    const svg = frame(width, below);
    const xs = s => s.at && s.at.length ? s.at : s.values.map((_, k) => k);
    const all = live.flatMap(({ series }) => xs(series).map((x, k) => [x, series.values[k]])).filter(p => p[1] !== null && isFinite(p[1]) && (!plot.log || (p[0] > 0 && p[1] > 0)));
    const limits = k => [Math.min(...all.map(p => p[k])), Math.max(...all.map(p => p[k]))];
    const usual = all.length ? [limits(0), limits(1)] : [[0, 1], [0, 1]];
    let xticks, yticks, xstep, ystep;
    if (plot.log) [xticks, yticks] = [logTicks(...usual[0]), logTicks(...usual[1])];
    else {
      ({ ticks: yticks, step: ystep } = scale(Math.min(0, usual[1][0]), Math.max(usual[1][1], plot.baseline || 0), 6));
      ({ ticks: xticks, step: xstep } = scale(usual[0][0], usual[0][1], 8));
    }
    const f = plot.log ? Math.log10 : v => v;
    const map = (ticks, from, to) => v => from + (to - from) * (f(v) - f(ticks[0])) / ((f(ticks[ticks.length - 1]) - f(ticks[0])) || 1);
    const x = map(xticks, LEFT, width - RIGHT), y = map(yticks, TOP + HEIGHT, TOP);
    axis(svg, width, plot, y, yticks, ystep, below);
    const ink = style("--ink"), named = !xticks.some(t => !Number.isInteger(t)) && plot.categories.length > 0;
    xticks.forEach(t => {
      const text = named ? plot.categories[t] : xstep ? shown(t, decimals(xstep)) : shown(t);
      if (text !== undefined) svg.append(shape("text", { x: x(t), y: TOP + HEIGHT + 16, "text-anchor": "middle", fill: ink }, text));
    });
    if (plot.log) svg.append(shape("line", { x1: x(xticks[0]), y1: y(Math.max(xticks[0], yticks[0])), x2: x(xticks[xticks.length - 1]), y2: y(Math.min(xticks[xticks.length - 1], yticks[yticks.length - 1])), stroke: ink, "stroke-dasharray": "5 3" }));
    live.forEach(({ series, colour }) => {
      const at = xs(series), drawn = at.map((a, k) => [a, series.values[k], k]).filter(p => p[1] !== null && isFinite(p[1]) && (!plot.log || (p[0] > 0 && p[1] > 0)));
      if (plot.kind === "lines") svg.append(shape("polyline", { points: drawn.map(p => `${x(p[0]).toFixed(1)},${y(p[1]).toFixed(1)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 1.8, ...(series.theirs ? { "stroke-dasharray": "5 4" } : {}) }));
      if (plot.kind === "scatter" || drawn.length <= 40) drawn.forEach(([a, v, k]) => {
        const dot = shape("circle", { cx: x(a), cy: y(v), r: plot.kind === "scatter" ? 4 : 3, fill: colour, "fill-opacity": 0.8, class: "bar" });
        hover(dot, `${(series.names || [])[k] || series.name}\n${plot.x}: ${plot.categories[a] ?? shown(a)}\n${plot.y}: ${shown(v)}`);
        svg.append(dot);
      });
    });
    if (plot.kind === "lines" && live.length) {
      // Long lines: the nearest step of all series at once.
      const over = shape("rect", { x: LEFT, y: TOP, width: width - LEFT - RIGHT, height: HEIGHT, fill: "transparent" });
      const cross = shape("line", { y1: TOP, y2: TOP + HEIGHT, stroke: style("--faint"), visibility: "hidden" });
      hover(over, event => {
        const box = svg.getBoundingClientRect(), want = event.clientX - box.left;
        const at = xs(live[0].series);
        let best = 0;
        at.forEach((a, k) => { if (Math.abs(x(a) - want) < Math.abs(x(at[best]) - want)) best = k; });
        cross.setAttribute("x1", x(at[best]));
        cross.setAttribute("x2", x(at[best]));
        cross.setAttribute("visibility", "visible");
        const lines = live.filter(({ series }) => series.values[best] !== null && series.values[best] !== undefined).map(({ series }) => `${series.name}: ${shown(series.values[best])}`);
        return [`${plot.x}: ${plot.categories[at[best]] ?? shown(at[best])}`, ...lines].join("\n");
      });
      svg.insertBefore(cross, svg.firstChild);
      svg.insertBefore(over, svg.firstChild);
    }
    baseline(svg, width, plot, y);
    return svg;
  }

  function table(data) {
    const box = element("div");
    // A coloured number (`1.070`, `-3.2 %`) is a number, too.
    const number = text => /^[-+−]?[\d.,]+( %)?$/.test(text) ? parseFloat(text.replaceAll(",", "").replace("−", "-")) : undefined;
    const words = data.headings.map((_, c) => data.rows.some(row => typeof row[c] === "string" || (row[c] && row[c].t !== undefined && number(row[c].t) === undefined)));
    const key = cell => cell === null || cell === undefined ? null : typeof cell === "string" ? cell : cell.t !== undefined ? number(cell.t) ?? cell.t : cell.v;
    const text = cell => cell === null || cell === undefined ? "–" : typeof cell === "string" ? cell : cell.t !== undefined ? cell.t : shown(cell.v, cell.d);
    let rows = data.rows.slice(), sorted = null, ascending = true;
    const filter = element("input", { type: "search", placeholder: "filter rows", "aria-label": "filter rows" });
    const count = element("span");
    const body = element("tbody");
    const fill = () => {
      const want = filter.value.toLowerCase();
      const kept = rows.filter(row => !want || row.some(cell => text(cell).toLowerCase().includes(want)));
      body.replaceChildren(...kept.map(row => element("tr", {}, ...data.headings.map((_, c) => {
        const cell = row[c], made = element("td", words[c] ? {} : { class: "n" });
        if (cell && cell.t !== undefined && cell.c) made.append(element("span", { class: "v " + cell.c }, cell.t));
        else made.textContent = text(cell);
        // Names and numbers of figures stay in a line.
        if (made.textContent.length <= 12) made.classList.add("short");
        if (made.textContent.length > 40) made.classList.add("long");
        return made;
      }))));
      count.textContent = kept.length === data.rows.length ? `${kept.length} rows` : `${kept.length} of ${data.rows.length} rows`;
    };
    const heads = data.headings.map((heading, c) => {
      const kind = [words[c] ? "" : "n", heading.length <= 8 ? "short" : ""].join(" ").trim();
      const head = element("th", { ...(kind ? { class: kind } : {}), tabindex: 0, title: "sort" }, heading);
      const sort = () => {
        ascending = sorted === c ? !ascending : words[c];
        sorted = c;
        const none = v => v === null || v === undefined;
        rows = data.rows.slice().sort((a, b) => {
          const [p, q] = [key(a[c]), key(b[c])];
          if (none(p) || none(q)) return none(p) - none(q);
          const order = typeof p === "number" && typeof q === "number" ? p - q : String(p).localeCompare(String(q), "en", { numeric: true });
          return ascending ? order : -order;
        });
        heads.forEach((h, k) => k === c ? h.setAttribute("aria-sort", ascending ? "ascending" : "descending") : h.removeAttribute("aria-sort"));
        fill();
      };
      head.addEventListener("click", sort);
      head.addEventListener("keydown", event => { if (event.key === "Enter") sort(); });
      return head;
    });
    filter.addEventListener("input", fill);
    const download = element("button", { type: "button" }, "CSV");
    const raw = cell => cell === null || cell === undefined ? "" : quoted(String(typeof cell === "string" ? cell : cell.t ?? cell.v));
    download.addEventListener("click", () => save(fileName(data.name) + ".csv", "text/csv", [data.headings.map(quoted), ...data.rows.map(row => row.map(raw))].map(r => r.join(",")).join("\n") + "\n"));
    const tools = element("div", { class: "tools" }, download, count);
    if (data.rows.length > 8) tools.prepend(filter);
    fill();
    box.append(tools, element("div", { class: "wide" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)));
    return box;
  }

  function heat(data) {
    const most = data.most ?? data.counts.reduce((a, b) => Math.max(a, b), 1), rows = Math.ceil(data.counts.length / data.width);
    const canvas = element("canvas", { class: "map", width: data.width, height: rows });
    const box = element("div", { class: "mapbox" }, canvas);
    let zoom = Math.max(1, Math.min(12, Math.floor(700 / data.width)));
    const size = () => { canvas.style.width = data.width * zoom + "px"; canvas.style.height = rows * zoom + "px"; };
    const context = canvas.getContext("2d"), image = context.createImageData(data.width, rows);
    // What compresses well is blue, what does not is red, as in pictures of memory elsewhere.
    const stops = [[24, 44, 160], [84, 160, 224], [248, 240, 176], [244, 140, 64], [176, 16, 32]];
    const mixed = t => {
      const k = Math.min(3, Math.floor(t * 4)), part = t * 4 - k;
      return [0, 1, 2].map(c => stops[k][c] * (1 - part) + stops[k + 1][c] * part);
    };
    data.counts.forEach((count, k) => {
      if (data.most) return image.data.set([...mixed(Math.min(1, count / most)), 255], 4 * k);
      // From dark blue over green to yellow; what was never touched is grey.
      const t = Math.log1p(count) / Math.log1p(most);
      const colour = count === 0 ? [128, 128, 128, 60] : [40 + 215 * t * t, 60 + 170 * t, 110 + 60 * Math.sin(Math.PI * t) - 80 * t, 255];
      image.data.set(colour, 4 * k);
    });
    context.putImageData(image, 0, 0);
    size();
    hover(canvas, event => {
      const at = canvas.getBoundingClientRect();
      const k = Math.floor((event.clientY - at.top) / zoom) * data.width + Math.floor((event.clientX - at.left) / zoom);
      return k >= 0 && k < data.counts.length ? `${data.cell} ${shown(k, 0)}\n${data.unit}: ${shown(data.counts[k], 0)}` : "";
    });
    const button = (label, factor) => {
      const made = element("button", { type: "button" }, label);
      made.addEventListener("click", () => { zoom = Math.max(1, Math.min(40, zoom * factor)); size(); });
      return made;
    };
    box.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom = Math.max(1, Math.min(40, zoom * (event.deltaY < 0 ? 1.25 : 0.8)));
      size();
    }, { passive: false });
    const tools = element("div", { class: "tools" }, button("+", 1.5), button("−", 1 / 1.5), `a cell is ${/^[aeiou]/.test(data.cell) ? "an" : "a"} ${data.cell}, ${data.width} to a row; ` + (data.most ? `${data.unit}, from 0 (blue) to ${shown(most, 0)} (red)` : `at most ${shown(most, 0)} ${data.unit}; grey: none`));
    return element("div", { class: "plot" }, element("h3", {}, data.title), tools, box);
  }

  // A paragraph; what stands between backticks is code.
  const paragraph = text => element("p", {}, ...text.split("`").map((part, k) => k % 2 ? element("code", {}, part) : part));

  const charts = [];
  function block(data) {
    switch (data.type) {
      case "text": return paragraph(data.text);
      case "code": return element("pre", {}, data.text);
      case "chart": { const made = chart(data); charts.push(made); return made; }
      case "table": return table(data);
      case "heat": return heat(data);
      case "picture": return element("figure", {}, element("img", { src: data.source, alt: data.caption }), element("figcaption", {}, data.caption));
      case "files": return element("p", { class: "files" }, "Beside this page: ", ...data.names.flatMap((name, k) => [k ? ", " : "", element("a", { href: name }, name)]));
      case "details": {
        // Made when it is opened: most never are.
        const made = element("details", {}, element("summary", {}, data.title));
        made.fill = () => {
          made.fill = () => {};
          const known = charts.length;
          made.append(...data.blocks.map(block));
          charts.slice(known).forEach(c => c.draw());
        };
        made.addEventListener("toggle", () => { if (made.open) made.fill(); });
        return made;
      }
      default: return element("p", {}, `(a block of kind ${data.type}, which this page does not know)`);
    }
  }

  function page(data) {
    document.title = data.title;
    const theme = element("button", { class: "theme", type: "button", title: "light or dark" }, "◐");
    theme.addEventListener("click", () => {
      const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
      redraw();
    });
    const head = element("header", {}, theme, element("h1", {}, data.title));
    if (data.lead.length) head.append(element("div", { class: "lead" }, ...data.lead.map(paragraph)));
    let links = element("nav", {}, ...data.sections.map(s => element("a", { href: "#" + s.id }, s.title)));
    // Many would fill the first screen of a phone.
    if (data.sections.length > 12) links = element("details", { class: "contents" }, element("summary", {}, `Contents: ${data.sections.length} sections`), links);
    const sections = data.sections.map(s => element("section", { id: s.id }, element("h2", {}, s.title), ...s.blocks.map(block)));
    const made = document.querySelector("meta[name=generator]").content;
    document.body.append(head, data.sections.length > 1 ? links : "", ...sections, element("footer", {}, `Made by ${made}. One file: nothing was fetched.`), tip);
    redraw();
  }
  const redraw = () => charts.forEach(c => c.draw());

  page(JSON.parse(document.getElementById("data").textContent));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth, timer;
  addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { if (innerWidth !== width) { width = innerWidth; redraw(); } }, 150);
  });
  // On paper is what was open, in the light; then the page is as it was.
  let theme;
  addEventListener("beforeprint", () => {
    theme = document.documentElement.dataset.theme;
    document.documentElement.dataset.theme = "light";
    redraw();
  });
  addEventListener("afterprint", () => {
    if (theme === undefined) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    redraw();
  });
})();
