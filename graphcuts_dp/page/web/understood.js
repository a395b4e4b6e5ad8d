// The first two steps: which file, and how it is understood.
import { element, show } from "/page/shared.js";
import { known as showAccount } from "/web/account.js";
import { draw } from "/web/fields.js";
import { afterPause, ask, by, forgetAll, keep, live, put, role, state, upload, valueOf } from "/web/state.js";

let separator = ""; // of the first line that the marked panel shows
let turn = 0, taking = Promise.resolve(false), looking = Promise.resolve(), counting = Promise.resolve(), counted = () => {}, emptied = () => {}, latest = "";
const PATIENCE = 10000; // milliseconds that "Next" waits for the count of rows
export const onCounted = (work) => { counted = work; };
export const onEmptied = (work) => { emptied = work; };
export const skips = () => valueOf("bad_rows") === "skip";
const capital = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;
// Buttons that say in which program a file was written that is not UTF-8.
const encodingButtons = (encodings, chosen) => Object.entries(encodings ?? {}).map(([name, program]) => element("button", { type: "button", text: `The file comes from ${program} (${name})`, onclick: () => chosen(name) }));

// Whether the file is read whose path is typed, once it is.
export async function taken(path) {
  const known = await taking;
  const isTaken = path === state.source ? known || Boolean(state.source) : await take(path);
  if (!isTaken) show(by("missing"), "Choose a file that can be read first.");
  if (!isTaken || !live.asks) return isTaken;
  show(by("missing"), "Say first whether the first line of the file names its columns.");
  by("header-yes").focus();
  return false;
}

export function take(path, encoding = "") {
  taking = readNames(path, encoding);
  return taking;
}

// Read the line of names. All that was typed is about one private file: another one empties the form.
async function readNames(path, encoding) {
  const other = path !== state.of;
  for (const before of new Set([latest, state.source]))
    if (before && before !== path) ask("forget", { path: before }).catch(() => {}); // a copy that nothing needs
  latest = path;
  state.source = path;
  live.names = [];
  live.eyes = null;
  live.asks = false;
  await firstLine(path, false);
  show(by("known"), "", "");
  show(by("missing"), ""); // what was missing of the file before
  if (!path) { show(by("head"), ""); keep(); return false; }
  const spoken = encoding ? { [role("text_of_file").key]: encoding } : {};
  try {
    const { names, proposed, asks } = await ask("head", { path, values: other ? spoken : { ...state.values, ...spoken } });
    if (other) {
      const another = Boolean(state.of);
      forgetAll();
      Object.assign(state, { source: path, of: path, proposed });
      Object.assign(state.values, proposed);
      emptied(another);
    }
    Object.assign(state.values, spoken);
    live.names = names;
    live.asks = asks;
    await firstLine(path, asks);
    if (names.length) show(by("head"), `Columns: ${names.join(", ")}.`, "good");
    else if (asks) show(by("head"), "This does not look like a table: its first line has few usual names of columns, so its words stand in the marked panel alone. If it is the wrong file, choose another one. Else say below what its first line is.", "");
    else show(by("head"), "This does not look like a table with names of columns. If it is the wrong file, choose another one. If it is a network, or a table without names, go on: in step 2 you type the numbers of columns, from 1 on.", "");
    keep();
    await showAccount();
    return true;
  } catch (error) {
    if (other) state.source = ""; // what was typed stays: perhaps the path was mistyped
    const encodings = encodingButtons(error.body?.encodings, (name) => { by("source").focus(); take(path, name); });
    show(by("head"), `${capital(error.message)}.${encodings.length ? "" : " Choose another file."}`);
    by("head").append(...encodings);
    keep();
    return false;
  }
}

// The first line, in the marked panel, where the curator has to say what it is.
async function firstLine(path, asks) {
  by("cells").textContent = "";
  by("first").classList.toggle("hidden", !asks);
  separator = "";
  if (!asks) return;
  const line = await ask("first", { path, values: state.values });
  separator = line.separator;
  by("cells").textContent = line.cells.join(" | ");
}

// What the curator says of the first line; of a row, also what separates its cells, as it was shown.
function sayHeader(answer) {
  put(role("header").key, answer);
  if (answer === "no" && separator && separator !== ",") put(role("separator").key, separator);
  show(by("missing"), "");
  by("source").focus();
  take(state.source);
}

export async function takeFile(file) {
  const path = await upload(file).catch((error) => show(by("head"), error.message));
  if (!path) return;
  by("source").value = path;
  await take(path);
}

// The sentence, simulated rows and the panel; only the newest question counts.
export function understand() {
  looking = look();
  return looking;
}

// Whether nothing is missing before the next step; the place that says what is missing has the focus.
export async function complete() {
  understandNow();
  await looking;
  const mine = turn, problem = live.looked?.problems[0];
  if (problem) by(`f-${problem.key}`)?.focus();
  if (problem || !live.looked) return false;
  await Promise.race([counting, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  if (mine !== turn) { // something else was typed meanwhile
    show(by("missing"), "Something was changed meanwhile, and is looked at now: press “Next” once more.", "");
    return false;
  }
  if (live.eyes?.share !== 1 && !allOutside(live.eyes)) return true;
  by("share").focus();
  return false;
}

// Below each field what is wrong with it, and what the list of places names.
function problems({ problems: list, public_list: places, months }) {
  const elsewhere = list.find((problem) => !by(`f-${problem.key}-note`));
  if (elsewhere) show(by("missing"), `${capital(elsewhere.text)}.`);
  for (const name of ["places", "months"]) {
    const key = role(name)?.key, note = by(`f-${key}-note`), problem = list.find((each) => each.key === key);
    if (!note) continue;
    const understood = { places, months }[name];
    show(note, problem ? `${capital(problem.text)}.` : understood ? `${understood}.` : "", problem ? "bad" : "good");
    if (!problem) continue;
    note.append(...encodingButtons(problem.encodings, (encoding) => { put(role("text_of_list").key, encoding); draw("check"); by(`f-${key}`).focus(); understand(); }));
  }
}

async function look() {
  const mine = ++turn, body = { path: state.source, values: state.values };
  let looked;
  try {
    looked = await ask("look", body);
  } catch (error) {
    if (mine !== turn) return;
    live.looked = null;
    by("direction").textContent = "";
    show(by("missing"), `${capital(error.message)}.`);
    by("missing").append(...encodingButtons(error.body?.encodings, setEncoding));
    return;
  }
  if (mine !== turn) return;
  live.looked = looked;
  show(by("missing"), "");
  problems(looked);
  by("direction").textContent = [looked.direction && `${capital(looked.direction)}.`, looked.format && `The file is ${looked.format}.`].filter(Boolean).join(" ");
  const zone = looked.time_zone?.replace(/^none: /, "");
  by("zone").textContent = [zone && `${capital(zone)}.`, looked.ignored && looked.ignored !== "nothing" && `Not used: ${looked.ignored}.`].filter(Boolean).join(" ");
  const { names, means, rows } = looked.sample;
  by("sample").tHead.replaceChildren(element("tr", {}, ...names.map((name, i) => element("th", { text: name === means[i] ? name : `${name} (${means[i]})` }))));
  by("sample").tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((text) => element("td", { text })))));
  by("sample").parentElement.classList.toggle("hidden", !names.length);
  counting = count(mine, body);
}

const setEncoding = (name) => { put(role("text_of_file").key, name); draw("check"); by("share").focus(); take(state.source).then(understand); };

async function count(mine, body) {
  by("share").textContent = "Counting rows that cannot be used ...";
  by("share").removeAttribute("data-share");
  by("faults").replaceChildren();
  by("mend").replaceChildren();
  live.eyes = null;
  const unread = valueOf("places") && live.looked.problems.some((problem) => problem.key === role("places")?.key);
  if (unread) { by("share").textContent = "Rows are counted once the list of the places can be read."; return; }
  const eyes = await ask("eyes", body).catch((error) => ({ not_counted: error.message, faults: [], date_formats: {} }));
  if (mine !== turn) return;
  live.eyes = eyes;
  by("share").textContent = [shareText(eyes), outsideText(eyes)].filter(Boolean).join(" ");
  by("share").setAttribute("data-share", eyes.share ?? "none");
  by("faults").replaceChildren(...eyes.faults.map((fault) => element("li", { text: `${rowsText(fault.rows)}: ${fault.text}${placesOf(fault)}` })));
  const redraw = () => { draw("check"); by("share").focus(); understand(); };
  const [encoding, program] = Object.entries(eyes.encodings)[0] ?? [];
  for (const [format, example] of Object.entries(eyes.date_formats))
    by("mend").append(element("button", { type: "button", text: `Dates are written as ${example}${encoding ? `, and the file comes from ${program}` : ""}`, onclick: () => { put(role("date_format").key, format); if (encoding) setEncoding(encoding); else redraw(); } }));
  by("mend").append(...encodingButtons(eyes.encodings, setEncoding));
  if (eyes.skipped && eyes.share < 1 && !eyes.mend_first && !skips())
    by("mend").append(element("button", { type: "button", text: "Leave these rows out", onclick: () => { put(role("bad_rows").key, "skip"); redraw(); } }));
  counted();
}

// Where the first such rows are, in a panel that is for the eyes of the curator alone.
const placesOf = ({ where, rows }) => (where.length ? ` (${where.join(", ")}${where.length < rows ? ", and others" : ""})` : "");
const rowsText = (count) => (count === 1 ? "1 row" : `${count.toLocaleString("en")} rows`);

// How many usable rows are of other months than those to report, so that no number counts them.
export const outsideShare = (eyes) => (eyes?.outside ? eyes.outside / (eyes.rows - eyes.skipped) : 0);
const allOutside = (eyes) => outsideShare(eyes) === 1;
export function outsideText(eyes) {
  if (!eyes.outside) return "";
  const some = `${eyes.outside.toLocaleString("en")} of ${rowsText(eyes.rows)} ${eyes.outside === 1 ? "is" : "are"} outside of the months to report, and would not count`;
  return allOutside(eyes) ? `${some}: nothing but noise would come out. Correct “${role("months").label}”.` : `${some}.`;
}

export function shareText(eyes) {
  if (eyes.not_counted) return `Rows were not counted: ${eyes.not_counted}`;
  if (!eyes.skipped) return `0 % of ${rowsText(eyes.rows)} cannot be used.`;
  const percent = eyes.share < 0.01 ? "" : ` (${Math.round(100 * eyes.share)} %)`;
  const some = `${eyes.skipped.toLocaleString("en")} of ${rowsText(eyes.rows)}${percent}`;
  if (eyes.share === 1) return `${some} cannot be used, so nothing but noise would come out.`;
  if (skips()) return `${some} would be skipped.`;
  return `${some} cannot be used, so the run would stop, and use nothing up.${eyes.mend_first ? "" : eyes.skipped === 1 ? " Leave it out, or correct it in the file." : " Leave them out, or correct them in the file."}`;
}

let waiting = false; // for a pause in typing
const soon = afterPause(() => understandNow(), 600);
export function understandSoon() {
  waiting = true;
  soon();
}
function understandNow() {
  if (!waiting) return;
  waiting = false;
  understand();
}

export function listen() {
  for (const answer of ["yes", "no"]) by(`header-${answer}`).addEventListener("click", () => sayHeader(answer));
  by("source").addEventListener("change", () => take(by("source").value.trim()));
  by("upload").addEventListener("change", (event) => takeFile(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    by("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      by("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") takeFile(event.dataTransfer.files[0]);
    });
}
