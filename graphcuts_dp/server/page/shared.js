// Functions of both pages: requests, small pieces of a page, pictures.
const SVG = "http://www.w3.org/2000/svg";
const WHOLE_SERVER = /^\/v1\/(me|login|logout|graphs|people|grants|audit)(\/|$|\?)/;
let csrf = null, graph = null;

export class Problem extends Error {
  constructor(status, detail, body) {
    super(detail);
    this.status = status;
    this.body = body;
  }
}

// Returns the address of a request; of a server with several graphs it names the one that is shown.
export function routed(path) {
  return graph === null || WHOLE_SERVER.test(path) ? path : `/v1/graphs/${encodeURIComponent(graph)}${path.slice(3)}`;
}

// Returns the key under which the page of one graph stores a value; other graphs have others.
export function keyOfGraph(name) {
  return graph === null ? name : `${name}-${graph}`;
}

export async function call(method, path, body, headers = {}) {
  const allHeaders = { ...headers };
  if (body !== undefined) allHeaders["Content-Type"] = "application/json";
  if (csrf) allHeaders["X-CSRF-Token"] = csrf;
  let reply;
  try {
    reply = await fetch(routed(path), {
      method,
      headers: allHeaders,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
    });
  } catch {
    throw new Problem(0, "The server cannot be reached.", {});
  }
  const content = await reply.json().catch(() => ({}));
  if (!reply.ok) throw new Problem(reply.status, content.detail || `Status ${reply.status}.`, content);
  return content;
}

export async function signedIn(role) {
  let me;
  try {
    me = await call("GET", "/v1/me");
  } catch {
    location.assign("/");
    return new Promise(() => {});
  }
  if ((me.role === "curator") !== (role === "curator")) {
    location.assign(me.role === "curator" ? "/curator" : "/analyst");
    return new Promise(() => {});
  }
  csrf = me.csrf;
  await chooseGraph();
  document.getElementById("me").textContent = me.name === me.role ? me.name : `${me.name}, ${me.role}`;
  document.getElementById("logout").addEventListener("click", async () => {
    await call("POST", "/v1/logout").catch(() => null);
    location.assign("/");
  });
  return me;
}

// Of several graphs, the address of the page names the one that is shown; else it is the first.
async function chooseGraph() {
  const { graphs } = await call("GET", "/v1/graphs");
  if (!graphs.length) throw new Problem(404, "There is no graph that you may ask.", {});
  const wanted = new URLSearchParams(location.search).get("graph");
  graph = graphs.includes(wanted) ? wanted : graphs[0];
  if (graphs.length === 1) return;
  const choice = element("select", { id: "graph", onchange: (event) => location.assign(`?graph=${encodeURIComponent(event.target.value)}`) },
    ...graphs.map((name) => element("option", { value: name, text: name, selected: name === graph })));
  document.querySelector(".who").prepend(element("label", { for: "graph", text: "Graph" }), choice);
}

export function show(note, text, kind = "bad") {
  note.textContent = text;
  note.className = `note ${kind}`;
}

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "text") node.textContent = value;
    else if (key === "class") node.className = value;
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function shape(name, attributes = {}, text) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  return node;
}

export function number(value, digits = 1) {
  if (value === null || value === undefined) return "no limit";
  return Number(value).toLocaleString("en", { maximumFractionDigits: digits });
}

export function small(value) {
  if (value === null || value === undefined) return "none";
  return Number(value).toLocaleString("en", { maximumSignificantDigits: 4 });
}

export function fill(table, rows) {
  const body = table.tBodies[0] || table.createTBody();
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  body.replaceChildren(
    ...rows.map((cells) =>
      element("tr", {}, ...cells.map((cell, column) => {
        const head = { "data-head": heads[column] }; // narrow screens show it beside the cell
        if (cell instanceof Node) return element("td", head, cell);
        if (typeof cell !== "object") return element("td", { text: cell, ...head });
        const [[kind, text]] = Object.entries(cell);
        return element("td", { text, class: kind, ...head });
      })),
    ),
  );
  if (!rows.length) {
    const width = table.tHead.rows[0].cells.length;
    body.replaceChildren(element("tr", {}, element("td", { colspan: width, text: "Nothing yet." })));
  }
}

export function facts(list, pairs) {
  list.replaceChildren(
    ...pairs.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })]),
  );
}

export function localTime(text) {
  return text.replace("T", " ").replace(/(\.\d+)?\+00:00$/, " UTC");
}

// Returns round numbers for an axis, from low to high.
export function steps(low, high, count = 5) {
  const raw = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= raw);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) ticks.push(tick);
  return ticks;
}

// Returns the width of a picture at which its letters are as large as those around it.
function plotWidth() {
  return Math.max(280, Math.min(720, document.querySelector("main").clientWidth - 64));
}

// Returns a line chart over time or number; points are {x, low, high, y}.
export function chart(points, { label, height = 220, cap = null, stairs = false, names = {} }) {
  const width = plotWidth(), left = 56, right = 12, top = 12, bottom = 36;
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label });
  const lows = points.map((point) => point.low ?? point.y), highs = points.map((point) => point.high ?? point.y);
  let low = Math.min(...lows, stairs ? 0 : Infinity), high = Math.max(...highs, cap ?? -Infinity);
  if (low === high) high = low + 1;
  const first = Math.min(...points.map((point) => point.x)), last = Math.max(...points.map((point) => point.x));
  const x = (value) => left + ((value - first) / (last - first || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - low) / (high - low)) * (height - top - bottom);
  for (const tick of steps(low, high)) {
    picture.append(shape("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }));
    picture.append(shape("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, small(tick)));
  }
  picture.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }));
  picture.append(shape("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, names.x || ""));
  picture.append(shape("text", { x: left, y: height - 20, "text-anchor": "start" }, names.first ?? number(first)));
  if (last > first)
    picture.append(shape("text", { x: width - right, y: height - 20, "text-anchor": "end" }, names.last ?? number(last)));
  if (cap !== null) picture.append(shape("line", { class: "cap", x1: left, x2: width - right, y1: y(cap), y2: y(cap) }));
  if (stairs) {
    let path = `M${x(points[0].x)} ${y(0)}`;
    for (const point of points) path += `H${x(point.x)}V${y(point.y)}`;
    picture.append(shape("path", { class: "curve", d: `${path}H${width - right}` }));
    for (const point of points) picture.append(shape("circle", { class: "dot", r: 4, cx: x(point.x), cy: y(point.y) }));
    return picture;
  }
  for (const point of points) {
    picture.append(shape("line", { class: "bar", x1: x(point.x), x2: x(point.x), y1: y(point.low), y2: y(point.high) }));
    const dot = shape("circle", { class: point.guaranteed ? "dot" : "open", r: 3.5, cx: x(point.x), cy: y(point.y) });
    dot.append(shape("title", {}, point.title || ""));
    picture.append(dot);
  }
  return picture;
}

// Returns a picture of one answer: its interval on a line from 0 to what is possible.
export function intervalPicture(value, interval, most) {
  const width = plotWidth(), height = 64;
  const top = Math.max(most ?? 0, interval[1] ?? value, value, 1);
  const x = (amount) => 16 + (amount / top) * (width - 32);
  const label = `The estimate is ${number(value)}; the true value is between ${number(interval[0])} and ${interval[1] === null ? "any" : number(interval[1])}.`;
  const picture = shape("svg", { viewBox: `0 0 ${width} ${height}`, width, role: "img", "aria-label": label });
  picture.append(shape("line", { class: "axis", x1: 16, x2: width - 16, y1: 40, y2: 40 }));
  picture.append(shape("rect", { class: "range", x: x(interval[0] ?? 0), width: Math.max(2, x(interval[1] ?? top) - x(interval[0] ?? 0)), y: 18, height: 16, rx: 3 }));
  picture.append(shape("line", { class: "bar", x1: x(value), x2: x(value), y1: 12, y2: 40 }));
  for (const tick of steps(0, top, 6)) {
    picture.append(shape("line", { class: "axis", x1: x(tick), x2: x(tick), y1: 40, y2: 45 }));
    picture.append(shape("text", { x: x(tick), y: 60, "text-anchor": tick === 0 ? "start" : x(tick) > width - 40 ? "end" : "middle" }, small(tick)));
  }
  return picture;
}

// Colours of amounts, from nothing to the most, as plotting/palette.py has them.
const AMOUNTS = ["#ffffff", "#cfe1f2", "#6aaed6", "#2070b4", "#08306b"];

const parts = (colour) => [1, 3, 5].map((start) => parseInt(colour.slice(start, start + 2), 16));

export function amountColour(share) {
  const position = share * (AMOUNTS.length - 1), first = Math.min(Math.floor(position), AMOUNTS.length - 2);
  const [low, high] = [parts(AMOUNTS[first]), parts(AMOUNTS[first + 1])];
  return `#${low.map((part, i) => Math.round(part + (position - first) * (high[i] - part)).toString(16).padStart(2, "0")).join("")}`;
}

// Returns black or white, whichever can be read better on a colour.
export function inkOn(colour) {
  const [r, g, b] = parts(colour).map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  return light / 0.05 >= 1.05 / light ? "#000000" : "#ffffff";
}

export async function busy(button, work) {
  button.disabled = true;
  try {
    return await work();
  } finally {
    button.disabled = false;
  }
}
