// A page of flows: a map or a matrix, the chosen number with its interval, and the largest ones.
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const by = (id) => document.getElementById(id);
  const data = JSON.parse(by("data").textContent);
  const isMap = data.positions !== null;
  const MAX_ARROWS = 400, WIDEST = 12, THINNEST = 1, BEND = 0.18, PIECES = 24, DOT = 3, LARGEST_DISC = 22;
  const SURE = 4; // place of the lower end that holds at once with all others
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let period = 0, group = -1, way = "both", chosen = null, marks = [];

  function element(name, facts = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(facts)) {
      if (key === "text") made.textContent = value;
      else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
  }

  function shape(name, facts = {}, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(facts)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  const digits = (half) => (half >= 10 ? 0 : half >= 1 ? 1 : 2);
  const written = (value, half) => value.toLocaleString("en", { maximumFractionDigits: digits(half) });
  const value = (cell) => data.numbers[period][cell][0];
  const isInside = (cell) => data.one_set && data.cells[cell][0] === data.cells[cell][1];

  function plusMinus(cell) {
    const [middle, half] = data.numbers[period][cell];
    return `${written(middle, half)} \u00b1 ${written(half, half)}`;
  }

  // What a flow is called: "from A to B", "between A and B", "within A".
  function called(cell) {
    const [a, b] = data.cells[cell], from = data.rows[a], to = data.columns[b];
    if (isInside(cell)) return ["within ", from];
    return data.directed ? ["from ", from, " to ", to] : ["between ", from, " and ", to];
  }

  const calledText = (cell) => called(cell).join("");
  const calledNodes = (cell) => called(cell).map((part, at) => (at % 2 ? element("bdi", { text: part }) : part));

  function belongs(cell) {
    if (group < 0) return true;
    const [a, b] = data.cells[cell];
    const from = data.one_set ? a === group : a === group;
    const to = data.one_set ? b === group : b + data.rows.length === group;
    if (!data.directed) return from || to;
    return way === "from" ? from : way === "to" ? to : from || to;
  }

  // Cells of a map: above 0 for sure, the surest last, so that they are drawn on top.
  function sureCells() {
    const numbers = data.numbers[period];
    const sure = data.cells.map((_, cell) => cell).filter((cell) => numbers[cell][SURE] > 0 && belongs(cell));
    return sure.sort((one, two) => numbers[one][SURE] - numbers[two][SURE]).slice(-MAX_ARROWS);
  }

  const shownCells = () => (isMap ? sureCells() : data.cells.map((_, cell) => cell).filter(belongs));

  // The largest value of these cells in all periods: one scale for all of them, and one for their sum.
  function largestValue(is = () => true) {
    const tables = period === 0 ? [data.numbers[0]] : data.numbers.slice(1);
    let most = 1e-9;
    for (const table of tables) table.forEach((numbers, cell) => { if (is(cell)) most = Math.max(most, numbers[0]); });
    return most;
  }

  // Colours of amounts, as palette.py has them.
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  function amountColour(share, sureness) {
    const stops = data.amounts[dark.matches ? "dark" : "light"].map(parts);
    const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), index = Math.min(Math.floor(at), stops.length - 2);
    const colour = stops[index].map((low, i) => low + (at - index) * (stops[index + 1][i] - low));
    return colour.map((part, i) => Math.round(stops[0][i] + sureness * (part - stops[0][i])));
  }
  function inkOn(colour) {
    const [r, g, b] = colour.map((part) => {
      const light = part / 255;
      return light <= 0.04045 ? light / 12.92 : ((light + 0.055) / 1.055) ** 2.4;
    });
    const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
    return (light + 0.05) / 0.05 >= 1.05 / (light + 0.05) ? "#000000" : "#ffffff";
  }

  // Measures texts on a canvas, with the font of the picture.
  const ruler = document.createElement("canvas").getContext("2d");
  function textWidth(text, size = 12) {
    ruler.font = `${size}px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif`;
    return ruler.measureText(text).width * 1.03 + 1;
  }
  // Both ends of a name are kept: names often begin alike.
  function fitted(name, room, size = 12) {
    if (textWidth(name, size) <= room) return name;
    const letters = [...name];
    for (let kept = letters.length - 1; kept > 1; kept -= 1) {
      const last = Math.floor(kept / 2);
      const text = `${letters.slice(0, kept - last).join("")}\u2026${letters.slice(letters.length - last).join("")}`;
      if (textWidth(text, size) <= room) return text;
    }
    return "";
  }

  // One mark can be reached by Tab, the others from it by the arrow keys.
  function focusable(mark, cell) {
    mark.setAttribute("role", "button");
    mark.setAttribute("tabindex", "-1");
    mark.setAttribute("aria-label", `${calledText(cell)}: ${plusMinus(cell)}`);
    mark.addEventListener("click", () => choose(cell, true));
    mark.addEventListener("focus", () => choose(cell, false));
    mark.addEventListener("keydown", (event) => moved(event, cell));
    marks.push({ cell, mark });
  }

  function moved(event, cell) {
    const at = marks.findIndex((each) => each.cell === cell);
    let next = null;
    const [a, b] = data.cells[cell];
    const rows = data.shown[0], columns = data.shown[1];
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (step && !isMap) {
      let i = shownAt[0], j = shownAt[1];
      if (rows[i] !== a || columns[j] !== b) [i, j] = [rows.indexOf(a), columns.indexOf(b)];
      for (;;) {
        i += step[0];
        j += step[1];
        if (i < 0 || j < 0 || i >= rows.length || j >= columns.length) break;
        next = marks.find((each) => each.i === i && each.j === j) ?? null;
        if (next) break;
      }
    } else if (step) {
      const by = step[0] + step[1]; // towards smaller flows to the right and down
      next = marks[at - by] ?? null;
    } else if (event.key === "Home") next = isMap ? marks.at(-1) : marks[0];
    else if (event.key === "End") next = isMap ? marks[0] : marks.at(-1);
    else if (event.key === "Enter" || event.key === " ") choose(cell, true);
    else return;
    event.preventDefault();
    if (next) {
      if (next.i !== undefined) shownAt = [next.i, next.j];
      next.mark.focus();
    }
  }
  let shownAt = [0, 0]; // row and column of the matrix where the keys are

  function choose(cell, says) {
    chosen = cell;
    for (const each of marks) {
      const is = each.cell === cell;
      (each.box ?? each.mark).classList.toggle("chosen", is);
      each.mark.setAttribute("tabindex", "-1");
      each.mark.setAttribute("aria-pressed", String(is));
    }
    const reached = marks.find((each) => each.cell === cell && (each.i === undefined || (each.i === shownAt[0] && each.j === shownAt[1])))
      ?? marks.find((each) => each.cell === cell) ?? (isMap ? marks.at(-1) : marks[0]);
    reached?.mark.setAttribute("tabindex", "0");
    for (const row of by("largest").rows) row.classList.toggle("chosen", row.dataset.cell === String(cell));
    tell(says);
  }

  function tell() {
    const place = by("chosen");
    if (chosen === null) {
      place.replaceChildren(element("p", { text: isMap ? "Choose an arrow: click it, or use Tab and the arrow keys." : "Choose a number: click it, or use Tab and the arrow keys." }));
      return;
    }
    const [, half, low, high, sure] = data.numbers[period][chosen];
    const upper = high === null ? "any number" : written(high, half);
    const certain = sure > 0
      ? `Above 0 for sure: at least ${written(sure, half)}, by intervals that hold for all numbers at once.`
      : "It may be 0, by intervals that hold for all numbers at once.";
    place.replaceChildren(
      element("p", {}, ...calledNodes(chosen), data.periods[period] ? `, ${data.periods[period]}` : ""),
      element("p", { class: "value", text: plusMinus(chosen) }),
      element("p", { text: `${data.unit}; with ${data.confidence} between ${written(low, half)} and ${upper}, for this number alone.` }),
      element("p", { class: "quiet", text: certain }),
    );
  }

  function showLargest() {
    const cells = shownCells().sort((one, two) => value(two) - value(one)).slice(0, 12);
    by("largest").replaceChildren(...cells.map((cell) => {
      const [a, b] = data.cells[cell];
      const row = element("tr", { "data-cell": cell },
        element("td", {}, element("bdi", { text: data.rows[a] })),
        element("td", {}, element("bdi", { text: data.columns[b] })),
        element("td", { class: "number" }, element("button", { type: "button", text: plusMinus(cell), "aria-label": `${calledText(cell)}: ${plusMinus(cell)}`, onclick: () => choose(cell, true) })));
      return row;
    }));
    by("largest-title").textContent = cells.length ? `The ${cells.length} largest` : "Nothing here is above 0 for sure";
    by("largest").closest("table").classList.toggle("hidden", !cells.length);
  }

  function draw() {
    marks = [];
    const room = by("picture"), width = Math.max(280, Math.floor(room.clientWidth));
    const when = data.periods[period] ? `, ${data.periods[period]}` : "";
    by("title").textContent = `${data.title}${when}`;
    document.title = `${data.title}${when}`;
    room.replaceChildren(isMap ? mapPicture(width) : matrixPicture(width));
    showLargest();
    const cells = shownCells();
    if (chosen !== null && !cells.includes(chosen)) chosen = null;
    choose(chosen, false);
    by("legend").replaceChildren(...(isMap ? mapLegend() : matrixLegend()));
    by("earlier").disabled = period === 0;
    by("later").disabled = period === data.periods.length - 1;
  }

  // The matrix.
  function matrixPicture(width) {
    const [rows, columns] = data.shown, size = 12;
    const names = rows.map((row) => data.rows[row]);
    const longest = Math.min(Math.max(...names.map((name) => textWidth(name))), width * 0.3);
    const left = longest + 24, cellWidth = Math.min((width - left - 2) / columns.length, 90);
    const cellHeight = Math.min(Math.max(cellWidth * 0.6, 15), 44);
    const columnNames = columns.map((column) => data.columns[column]);
    const isFlat = columnNames.every((name) => textWidth(name) <= cellWidth - 4), isTurned = !isFlat && cellWidth >= 13;
    const tall = isTurned ? Math.min(Math.max(...columnNames.map((name) => textWidth(name))), 150) : isFlat ? 16 : 0;
    const top = tall + 26, height = top + rows.length * cellHeight + 4;
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Matrix: ${data.axes[0]} in rows, ${data.axes[1]} in columns` });
    picture.append(shape("text", { x: left + (columns.length * cellWidth) / 2, y: 14, "text-anchor": "middle" }, fitted(data.axes[1], width - left)));
    picture.append(shape("text", { transform: `translate(13 ${top + (rows.length * cellHeight) / 2}) rotate(-90)`, "text-anchor": "middle" }, fitted(data.axes[0], Math.max(rows.length * cellHeight, 40))));
    columnNames.forEach((name, j) => {
      const x = left + (j + 0.5) * cellWidth;
      if (isFlat) picture.append(shape("text", { x, y: top - 6, "text-anchor": "middle" }, name));
      if (isTurned) picture.append(shape("text", { transform: `translate(${x + 4} ${top - 5}) rotate(-90)` }, fitted(name, tall + 4)));
    });
    names.forEach((name, i) => picture.append(shape("text", { x: left - 6, y: top + (i + 0.5) * cellHeight + 4, "text-anchor": "end" }, fitted(name, longest))));
    const at = new Map();
    data.cells.forEach(([a, b], cell) => {
      at.set(`${a} ${b}`, cell);
      if (!data.directed) at.set(`${b} ${a}`, cell);
    });
    const most = largestValue(), widest = Math.max(...data.cells.map((_, cell) => textWidth(plusMinus(cell).split(" ")[0], size)));
    const isNumbered = widest <= cellWidth - 6;
    rows.forEach((row, i) => columns.forEach((column, j) => {
      const cell = at.get(`${row} ${column}`);
      const box = { x: left + j * cellWidth + 0.5, y: top + i * cellHeight + 0.5, width: Math.max(cellWidth - 1, 1), height: cellHeight - 1 };
      if (cell === undefined) {
        picture.append(shape("rect", { ...box, class: "impossible" }));
        return;
      }
      const [middle, half] = data.numbers[period][cell];
      const colour = amountColour(Math.sqrt(middle / most), isNumbered ? 1 : Math.max(0, 1 - half / Math.max(middle, 1e-12)));
      const group = shape("g", { class: "cell" }), rect = shape("rect", { ...box, fill: `rgb(${colour.join(" ")})` });
      if (!belongs(cell)) group.setAttribute("opacity", "0.25");
      group.append(rect);
      if (isNumbered) group.append(shape("text", { x: box.x + box.width / 2, y: box.y + box.height / 2 + 4, "text-anchor": "middle" }, written(middle, half)));
      if (isNumbered) group.lastChild.style.fill = inkOn(colour);
      picture.append(group);
      focusable(group, cell);
      Object.assign(marks.at(-1), { box: rect, i, j });
      group.addEventListener("pointerdown", () => { shownAt = [i, j]; });
      group.addEventListener("focus", () => { shownAt = [i, j]; });
    }));
    picture.append(shape("rect", { class: "frame", x: left, y: top, width: columns.length * cellWidth, height: rows.length * cellHeight }));
    return picture;
  }

  function matrixLegend() {
    const bar = shape("svg", { width: 120, height: 14, viewBox: "0 0 120 14", role: "img", "aria-label": "Colours from nothing to the most" });
    for (let at = 0; at < 24; at += 1) bar.append(shape("rect", { x: at * 5, y: 0, width: 5.5, height: 14, fill: `rgb(${amountColour(at / 23, 1).join(" ")})` }));
    bar.append(shape("rect", { class: "frame", x: 0.5, y: 0.5, width: 119, height: 13 }));
    const texts = [element("span", {}, "0", bar, `${written(largestValue(), 10)} ${data.unit}`)];
    if (data.cells.length < data.all_cells) texts.push(element("span", { text: `The groups with the largest sums: ${data.cells.length.toLocaleString("en")} of ${data.all_cells.toLocaleString("en")} cells.` }));
    return texts;
  }

  // The map: places are in units of a degree of latitude, y upwards.
  function extent() {
    const points = [...data.positions.rows, ...data.positions.columns];
    const ends = [0, 1].map((axis) => [Math.min(...points.map((p) => p[axis])), Math.max(...points.map((p) => p[axis]))]);
    const margin = 0.08 * Math.max(ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]) || 1;
    return ends.map(([low, high]) => [low - margin, high + margin]);
  }

  // Flows inside a group, or between two at one place, are discs.
  const isDisc = (cell) => isInside(cell) || String(data.positions.rows[data.cells[cell][0]]) === String(data.positions.columns[data.cells[cell][1]]);

  function mapPicture(width) {
    const isEarth = data.positions.longitude_scale !== null;
    const left = isEarth ? 62 : 4, bottom = isEarth ? 22 : 4, top = 4, right = 4;
    let [[x0, x1], [y0, y1]] = extent();
    const inner = width - left - right;
    const tallest = Math.max(300, Math.min(inner * 1.1, 820));
    const inside = Math.min(Math.max(inner * (y1 - y0) / (x1 - x0), inner * 0.35), tallest);
    const scale = Math.min(inner / (x1 - x0), inside / (y1 - y0));
    const middle = [(x0 + x1) / 2, (y0 + y1) / 2];
    [x0, x1, y0, y1] = [middle[0] - inner / 2 / scale, middle[0] + inner / 2 / scale, middle[1] - inside / 2 / scale, middle[1] + inside / 2 / scale];
    const height = inside + top + bottom;
    const at = ([x, y]) => [left + (x - x0) * scale, top + (y1 - y) * scale];
    const cells = sureCells();
    const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Map of ${cells.length} flows` });
    const taken = isEarth ? graticule(picture, { x0, x1, y0, y1, left, top, inner, inside, scale }) : [];
    picture.append(shape("rect", { class: "frame", x: left, y: top, width: inner, height: inside }));
    const widest = largestValue((cell) => !isDisc(cell)), largest = largestValue(isDisc);
    for (const cell of [...cells.filter(isDisc), ...cells.filter((each) => !isDisc(each))]) {
      const [a, b] = data.cells[cell], [middleValue, , , , sure] = data.numbers[period][cell];
      const share = 0.35 + 0.6 * Math.min(sure / middleValue, 1);
      const from = at(data.positions.rows[a]), to = at(data.positions.columns[b]);
      const mark = isDisc(cell)
        ? shape("circle", { class: "mark within", cx: from[0], cy: from[1], r: Math.max(LARGEST_DISC * Math.sqrt(middleValue / largest), DOT + 1) })
        : shape("path", { class: "mark between", d: arrow(from, to, Math.max(WIDEST * middleValue / widest, THINNEST)) });
      mark.setAttribute("fill-opacity", share.toFixed(3));
      picture.append(mark);
      focusable(mark, cell);
    }
    // The keys go through the marks by size.
    marks.sort((one, two) => value(one.cell) - value(two.cell));
    const totals = new Map();
    const add = (point, name, total) => {
      const key = String(point), old = totals.get(key);
      if (!old || old.total < total) totals.set(key, { point, name, total });
    };
    const sums = [data.rows.map(() => 0), data.columns.map(() => 0)];
    for (const cell of cells) data.cells[cell].forEach((code, side) => { sums[side][code] += value(cell); });
    data.positions.rows.forEach((point, code) => add(point, data.rows[code], sums[0][code]));
    data.positions.columns.forEach((point, code) => add(point, data.columns[code], sums[1][code]));
    for (const { point } of totals.values()) {
      const [x, y] = at(point);
      picture.append(shape("circle", { class: "dot", cx: x, cy: y, r: DOT }));
      taken.push([x - DOT, y - DOT, x + DOT, y + DOT]);
    }
    const whole = [left, top, left + inner, top + inside];
    for (const { point, name } of [...totals.values()].sort((one, two) => two.total - one.total)) {
      const [x, y] = at(point), text = fitted(name, Math.min(190, inner * 0.4)), wide = textWidth(text), tall = 15;
      for (const [side, up] of [[1, 1], [-1, 1], [1, -1], [-1, -1]]) {
        const start = side > 0 ? x + 5 : x - 5 - wide, under = up > 0 ? y - 3 : y + 3 + tall;
        const box = [start, under - tall, start + wide, under];
        const isFree = box[0] >= whole[0] && box[1] >= whole[1] && box[2] <= whole[2] && box[3] <= whole[3]
          && taken.every((other) => box[2] <= other[0] || other[2] <= box[0] || box[3] <= other[1] || other[3] <= box[1]);
        if (!isFree || !text) continue;
        taken.push(box);
        const label = shape("text", { class: "halo", x: start, y: under - 3.5 }, text);
        label.style.pointerEvents = "none";
        picture.append(label);
        break;
      }
    }
    return picture;
  }

  // The outline of an arrow that bends to the left on its way; without a head if there is no direction.
  function arrow(from, to, width) {
    const dx = to[0] - from[0], dy = to[1] - from[1], length = Math.hypot(dx, dy);
    let normal = [dy, -dx]; // to the left, as y points down
    if (!data.directed && normal[1] > 0) normal = [-dy, dx];
    const control = [(from[0] + to[0]) / 2 + BEND * normal[0], (from[1] + to[1]) / 2 + BEND * normal[1]];
    const gap = Math.min(DOT + 1, length / 8) / length;
    const line = [];
    for (let i = 0; i <= PIECES; i += 1) {
      const t = gap + (1 - 2 * gap) * i / PIECES;
      line.push([0, 1].map((axis) => (1 - t) ** 2 * from[axis] + 2 * t * (1 - t) * control[axis] + t ** 2 * to[axis]));
    }
    const tip = line.at(-1), head = data.directed ? Math.min(7 + 1.2 * width, length / 2) : 0;
    const shaft = line.filter((point) => Math.hypot(tip[0] - point[0], tip[1] - point[1]) >= head);
    const sideways = shaft.map((_, i) => {
      const one = shaft[Math.max(i - 1, 0)], two = shaft[Math.min(i + 1, shaft.length - 1)];
      const along = shaft.length > 1 ? [two[0] - one[0], two[1] - one[1]] : [dx, dy];
      const size = Math.hypot(...along) || 1;
      return [along[1] / size, -along[0] / size];
    });
    const moved = (sign, by) => shaft.map((point, i) => point.map((part, axis) => part + sign * by * sideways[i][axis]));
    const corners = moved(1, width / 2);
    if (data.directed) {
      const end = shaft.at(-1), wing = sideways.at(-1).map((part) => part * (0.8 * width + 2.5));
      corners.push([end[0] + wing[0], end[1] + wing[1]], tip, [end[0] - wing[0], end[1] - wing[1]]);
    }
    corners.push(...moved(-1, width / 2).reverse());
    return `M${corners.map((point) => point.map((part) => part.toFixed(1)).join(" ")).join("L")}Z`;
  }

  const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90];
  function roundDegrees(low, high, least) {
    const step = STEPS.find((each) => each >= Math.max(least, (high - low) / 7)) ?? 90, found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i += 1) found.push(Number((i * step).toFixed(2)));
    return found;
  }
  function degrees(angle, above, below) {
    return `${Math.abs(angle)}\u00b0${angle && Math.abs(angle) !== 180 ? ` ${angle > 0 ? above : below}` : ""}`;
  }

  function graticule(picture, { x0, x1, y0, y1, left, top, inner, inside, scale }) {
    const ratio = data.positions.longitude_scale, label = textWidth("188.88\u00b0 W", 11) + 10;
    for (const angle of roundDegrees(x0 / ratio, x1 / ratio, label / scale / ratio)) {
      const x = left + (angle * ratio - x0) * scale;
      picture.append(shape("line", { class: "line", x1: x, x2: x, y1: top, y2: top + inside }));
      if (x - label / 2 > left - 20 && x + label / 2 < left + inner + 4)
        picture.append(shape("text", { class: "degrees", x, y: top + inside + 15, "text-anchor": "middle" }, degrees(Number((((angle + 540) % 360) - 180).toFixed(2)), "E", "W")));
    }
    for (const angle of roundDegrees(Math.max(y0, -90), Math.min(y1, 90), 26 / scale)) {
      const y = top + (y1 - angle) * scale;
      picture.append(shape("line", { class: "line", x1: left, x2: left + inner, y1: y, y2: y }));
      if (y > top + 8 && y < top + inside - 4) picture.append(shape("text", { class: "degrees", x: left - 5, y: y + 4, "text-anchor": "end" }, degrees(angle, "N", "S")));
    }
    const cosine = (angle) => Math.cos(Math.min(Math.max(angle, -90), 90) * Math.PI / 180) / ratio;
    if (Math.max(Math.abs(cosine(y0) - 1), Math.abs(cosine(y1) - 1)) > 0.15) return [];
    const perDegree = 6371.0088 * Math.PI / 180, most = 0.25 * (inner / scale) * perDegree, power = 10 ** Math.floor(Math.log10(most));
    const long = power * [5, 2, 1].find((each) => each * power <= most), wide = long / perDegree * scale;
    const text = long >= 1 ? `${long.toLocaleString("en")} km` : `${Math.round(1000 * long)} m`;
    const end = left + inner - 12, y = top + inside - 12;
    picture.append(shape("line", { class: "bar", x1: end - wide, x2: end, y1: y, y2: y }));
    picture.append(shape("text", { x: end - wide / 2, y: y - 5, "text-anchor": "middle" }, text));
    const half = Math.max(wide, textWidth(text)) / 2 + 3;
    return [[end - wide / 2 - half, y - 20, end - wide / 2 + half, y + 4]];
  }

  function mapLegend() {
    const cells = sureCells(), amount = (is) => `${written(largestValue(is), 10)} ${data.unit}`;
    const sample = (name, facts) => { const box = shape("svg", { width: 34, height: 16, viewBox: "0 0 34 16", role: "img", "aria-label": "Sample" }); box.append(shape(name, facts)); return box; };
    const texts = [];
    texts.push(element("span", {}, sample("path", { class: "between", d: arrow([-2, 8.5], [36, 8.5], 7) }), `the widest: ${amount((cell) => !isDisc(cell))}${data.directed ? "; the head shows the direction" : ""}`));
    if (data.cells.some((_, cell) => isDisc(cell))) texts.push(element("span", {}, sample("circle", { class: "within", cx: 17, cy: 8, r: 7 }), `inside a group, the largest: ${amount(isDisc)}`));
    texts.push(element("span", { text: "paler: larger error" }));
    if (group < 0) {
      const sure = data.numbers[period].filter((each) => each[SURE] > 0).length;
      texts.push(element("span", { text: `${cells.length.toLocaleString("en")} of ${data.all_cells.toLocaleString("en")} flows are drawn${cells.length < data.all_cells ? sure > cells.length ? "; others are smaller or may be 0" : "; the others may be 0" : ""}` }));
    }
    return texts;
  }

  function start() {
    by("guarantee").textContent = `Numbers with noise, for privacy: ${data.guarantee}.`;
    by("verdict").textContent = data.verdict ? `${data.verdict}.` : "";
    by("counted").textContent = data.counted ? `${data.counted[0].toUpperCase()}${data.counted.slice(1)}.` : "";
    by("about").textContent = `\u00b1 is the half width of the ${data.confidence} interval of a number alone. What is largest is partly so by chance: for numbers that you pick after looking, use the line on all numbers at once.`;
    by("head-from").textContent = data.axes[0];
    by("head-to").textContent = data.axes[1];
    by("head-number").textContent = `${data.unit} \u00b1`;
    by("period").replaceChildren(...data.periods.map((text, at) => element("option", { value: at, text })));
    by("period-field").classList.toggle("hidden", data.periods.length < 2);
    const groups = data.shown[0].map((code) => [code, data.rows[code]]);
    if (!data.one_set) groups.push(...data.shown[1].map((code) => [code + data.rows.length, data.columns[code]]));
    by("group").replaceChildren(element("option", { value: -1, text: "all" }), ...groups.map(([code, name]) => element("option", { value: code, text: name })));
    by("way-field").classList.add("hidden");
    const turn = (to) => { period = to; by("period").value = String(to); draw(); };
    by("period").addEventListener("change", (event) => turn(Number(event.target.value)));
    by("earlier").addEventListener("click", () => turn(Math.max(period - 1, 0)));
    by("later").addEventListener("click", () => turn(Math.min(period + 1, data.periods.length - 1)));
    by("group").addEventListener("change", (event) => {
      group = Number(event.target.value);
      by("way-field").classList.toggle("hidden", group < 0 || !data.directed || !data.one_set);
      draw();
    });
    by("way").addEventListener("change", (event) => { way = event.target.value; draw(); });
    dark.addEventListener("change", draw);
    let width = by("picture").clientWidth;
    new ResizeObserver(() => {
      const now = by("picture").clientWidth;
      if (Math.abs(now - width) > 1) { width = now; draw(); }
    }).observe(by("picture"));
    draw();
    document.body.setAttribute("data-ready", "yes");
  }
  start();
})();
