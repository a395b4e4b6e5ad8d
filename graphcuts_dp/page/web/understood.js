// The first two steps: which file, and how it is understood.
import { element, show } from "/page/shared.js";
import { draw } from "/web/fields.js";
import { afterPause, ask, by, keep, live, put, role, state, upload } from "/web/state.js";

let turn = 0, taking = Promise.resolve(false);

// Whether the file is read whose path is typed, once it is.
export async function taken(path) {
  const known = await taking;
  return path === state.source ? known || Boolean(state.source) : take(path);
}

export function take(path) {
  taking = readNames(path);
  return taking;
}

// Read the line of names; another file takes its columns with it, and nothing else.
async function readNames(path) {
  const other = path !== state.source;
  if (other) {
    for (const key of Object.keys(state.proposed)) if (state.values[key] === state.proposed[key]) delete state.values[key];
    for (const name of ["from", "to", "person", "date", "date_format"]) delete state.values[role(name).key];
    state.proposed = {};
    state.furthest = 0;
    live.eyes = null;
  }
  state.source = path;
  live.names = [];
  if (!path) { show(by("head"), ""); keep(); return false; }
  try {
    const { names, proposed } = await ask("head", { path, values: state.values });
    live.names = names;
    if (other) {
      state.proposed = proposed;
      state.values = { ...state.values, ...proposed };
    }
    show(by("head"), names.length ? `Columns: ${names.join(", ")}.` : "No usual name of a column is in the first line, so nothing of it is shown: below, type the names or the numbers of columns.", names.length ? "good" : "");
    keep();
    return true;
  } catch (error) {
    if (other) state.source = "";
    show(by("head"), `${error.message}. Choose another file.`);
    keep();
    return false;
  }
}

export async function takeFile(file) {
  const path = await upload(file).catch((error) => show(by("head"), error.message));
  if (!path) return;
  by("source").value = path;
  await take(path);
}

// The sentence, simulated rows and the panel; only the newest question counts.
export async function understand() {
  const mine = ++turn, body = { path: state.source, values: state.values };
  let looked;
  try {
    looked = await ask("look", body);
  } catch (error) {
    if (mine !== turn) return;
    by("direction").textContent = "";
    show(by("missing"), error.message);
    return;
  }
  if (mine !== turn) return;
  show(by("missing"), "");
  by("direction").textContent = [looked.direction && `${looked.direction[0].toUpperCase()}${looked.direction.slice(1)}.`, looked.format && `The file is ${looked.format}.`].filter(Boolean).join(" ");
  const zone = looked.time_zone?.replace(/^none: /, "");
  by("zone").textContent = [zone && `${zone[0].toUpperCase()}${zone.slice(1)}.`, looked.ignored && looked.ignored !== "nothing" && `Not used: ${looked.ignored}.`].filter(Boolean).join(" ");
  const { names, means, rows } = looked.sample;
  by("sample").tHead.replaceChildren(element("tr", {}, ...names.map((name, i) => element("th", { text: name === means[i] ? name : `${name} (${means[i]})` }))));
  by("sample").tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((text) => element("td", { text })))));
  by("sample").parentElement.classList.toggle("hidden", !names.length);
  await count(mine, body);
}

async function count(mine, body) {
  by("share").textContent = "Counting rows that cannot be used ...";
  by("share").removeAttribute("data-share");
  by("faults").replaceChildren();
  by("mend").replaceChildren();
  const eyes = await ask("eyes", body).catch((error) => ({ not_counted: error.message, faults: [], date_formats: {} }));
  if (mine !== turn) return;
  live.eyes = eyes;
  by("share").textContent = shareText(eyes);
  by("share").setAttribute("data-share", eyes.share ?? "none");
  by("faults").replaceChildren(...eyes.faults.map((fault) => element("li", { text: `${fault.rows.toLocaleString("en")} rows: ${fault.text}` })));
  const repair = (text, key, value) => element("button", { type: "button", text, onclick: () => { put(key, value); draw("check"); by("share").focus(); understand(); } });
  for (const [format, example] of Object.entries(eyes.date_formats))
    by("mend").append(repair(`Dates are written as ${example}`, role("date_format").key, format));
  const skipping = role("bad_rows");
  if (eyes.skipped && eyes.share < 1 && (state.values[skipping.key] ?? skipping.default) !== "skip")
    by("mend").append(repair("Leave these rows out", skipping.key, "skip"));
}

const per = (share) => `${(100 * share).toLocaleString("en", { maximumSignificantDigits: 2 })} %`;

export function shareText(eyes) {
  if (eyes.not_counted) return `Rows were not counted: ${eyes.not_counted}`;
  if (!eyes.skipped) return `0 % of ${eyes.rows.toLocaleString("en")} rows would be skipped.`;
  const nothing = eyes.share === 1 ? " Nothing but noise would come out." : "";
  return `${per(eyes.share)} of ${eyes.rows.toLocaleString("en")} rows would be skipped.${nothing}`;
}

export const understandSoon = afterPause(understand, 600);

export function listen() {
  by("source").addEventListener("change", () => take(by("source").value.trim()));
  by("upload").addEventListener("change", (event) => takeFile(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    by("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      by("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") takeFile(event.dataTransfer.files[0]);
    });
}
