// The first two steps: choose the private file, and check how the page reads it.
import { element, show } from "/page/shared.js";
import { showFileAccount } from "/web/account.js";
import { draw } from "/web/fields.js";
import { afterPause, byId, clear, fieldOfRole, post, save, setValue, state, unsaved, upload, valueOfRole } from "/web/state.js";

const LONGEST_WAIT = 10000; // milliseconds that "Next" waits for the counts of rows

let separator = ""; // of the first line that the marked panel shows
let latestPath = ""; // the path that was read last, also if it could not be read
// What is under way: reading the names of columns, checking the values, counting rows.
let namesRead = Promise.resolve(false), check = Promise.resolve(), count = Promise.resolve();
let checkNumber = 0; // replies to earlier checks are ignored
let onCount = () => {}, onNewFile = () => {};
export const setCountListener = (listener) => { onCount = listener; };
export const setNewFileListener = (listener) => { onNewFile = listener; };

export const skipsBadRows = () => valueOfRole("bad_rows") === "skip";
const capitalized = (text) => `${text[0].toUpperCase()}${text.slice(1)}`;

// Buttons to choose an encoding of a file that is not UTF-8, by the programs that write it.
const encodingButtons = (encodings, choose) => Object.entries(encodings ?? {}).map(([name, program]) => element("button", { type: "button", text: `The file comes from ${program} (${name})`, onclick: () => choose(name) }));

// Returns true if a file could be read, and the page knows whether its first line has names.
export async function isFileRead(path) {
  const isLatestRead = await namesRead;
  const isRead = path === state.source ? isLatestRead || Boolean(state.source) : await chooseFile(path);
  if (!isRead) show(byId("missing"), "Choose a file that can be read first.");
  if (!isRead || !unsaved.asksForHeader) return isRead;
  show(byId("missing"), "Say first whether the first line of the file names its columns.");
  byId("header-yes").focus();
  return false;
}

export function chooseFile(path, encoding = "") {
  namesRead = readNames(path, encoding);
  return namesRead;
}

// Reads the line of names. The values are about one private file: another file empties the form.
async function readNames(path, encoding) {
  const isNewFile = path !== state.valuesSource;
  for (const earlierPath of new Set([latestPath, state.source]))
    if (earlierPath && earlierPath !== path) post("forget", { path: earlierPath }).catch(() => {}); // if it is a copy
  latestPath = path;
  state.source = path;
  Object.assign(unsaved, { names: [], rowCounts: null, asksForHeader: false });
  await showFirstLine(path, false);
  show(byId("known"), "", "");
  show(byId("missing"), "");
  if (!path) { show(byId("head"), ""); save(); return false; }
  const chosenEncoding = encoding ? { [fieldOfRole("text_of_file").key]: encoding } : {};
  try {
    const { names, suggested, asks_for_header: asksForHeader } = await post("head", { path, values: isNewFile ? chosenEncoding : { ...state.values, ...chosenEncoding } });
    if (isNewFile) {
      const hadFile = Boolean(state.valuesSource);
      clear();
      Object.assign(state, { source: path, valuesSource: path, suggested });
      Object.assign(state.values, suggested);
      onNewFile(hadFile);
    }
    Object.assign(state.values, chosenEncoding);
    Object.assign(unsaved, { names, asksForHeader });
    await showFirstLine(path, asksForHeader);
    if (names.length) show(byId("head"), `Columns: ${names.join(", ")}.`, "good");
    else if (asksForHeader) show(byId("head"), "This does not look like a table: its first line has few usual names of columns, so its words stand in the marked panel alone. If it is the wrong file, choose another one. Else say below what its first line is.", "");
    else show(byId("head"), "This does not look like a table with names of columns. If it is the wrong file, choose another one. If it is a network, or a table without names, go on: in step 2 you type the numbers of columns, from 1 on.", "");
    save();
    await showFileAccount();
    return true;
  } catch (error) {
    if (isNewFile) state.source = ""; // the values stay: perhaps the path was mistyped
    const buttons = encodingButtons(error.body?.encodings, (name) => { byId("source").focus(); chooseFile(path, name); });
    show(byId("head"), `${capitalized(error.message)}.${buttons.length ? "" : " Choose another file."}`);
    byId("head").append(...buttons);
    save();
    return false;
  }
}

// Shows the first line in the marked panel if the curator has to answer whether it has names.
async function showFirstLine(path, asksForHeader) {
  byId("cells").textContent = "";
  byId("first").classList.toggle("hidden", !asksForHeader);
  separator = "";
  if (!asksForHeader) return;
  const line = await post("first_line", { path, values: state.values });
  separator = line.separator;
  byId("cells").textContent = line.cells.join(" | ");
}

// Stores the answer on the first line. If it is a row, the separator that was shown is stored, too.
function answerHeader(answer) {
  setValue(fieldOfRole("header").key, answer);
  if (answer === "no" && separator && separator !== ",") setValue(fieldOfRole("separator").key, separator);
  show(byId("missing"), "");
  byId("source").focus();
  chooseFile(state.source);
}

export async function uploadFile(file) {
  const path = await upload(file).catch((error) => show(byId("head"), error.message));
  if (!path) return;
  byId("source").value = path;
  await chooseFile(path);
}

// Checks the values, and shows how the page reads the file and how many rows it can use.
export function startCheck() {
  check = checkValues();
  return check;
}

// Returns true if nothing keeps the curator from the next step; else the field to change is focused.
export async function isComplete() {
  checkNow();
  await check;
  const number = checkNumber, problem = unsaved.reading?.problems[0];
  if (problem) byId(`f-${problem.key}`)?.focus();
  if (problem || !unsaved.reading) return false;
  await Promise.race([count, new Promise((resolve) => setTimeout(resolve, LONGEST_WAIT))]);
  if (number !== checkNumber) {
    show(byId("missing"), "Something was changed meanwhile, and is looked at now: press “Next” once more.", "");
    return false;
  }
  if (unsaved.rowCounts?.share !== 1 && !areAllOutside(unsaved.rowCounts)) return true;
  byId("share").focus();
  return false;
}

async function checkValues() {
  const number = ++checkNumber, body = { path: state.source, values: state.values };
  let reading;
  try {
    reading = await post("look", body);
  } catch (error) {
    if (number !== checkNumber) return;
    unsaved.reading = null;
    byId("direction").textContent = "";
    show(byId("missing"), `${capitalized(error.message)}.`);
    byId("missing").append(...encodingButtons(error.body?.encodings, setEncoding));
    return;
  }
  if (number !== checkNumber) return;
  unsaved.reading = reading;
  show(byId("missing"), "");
  showFieldNotes(reading);
  byId("direction").textContent = [reading.direction && `${capitalized(reading.direction)}.`, reading.format && `The file is ${reading.format}.`].filter(Boolean).join(" ");
  const zone = reading.time_zone?.replace(/^none: /, "");
  byId("zone").textContent = [zone && `${capitalized(zone)}.`, reading.ignored && reading.ignored !== "nothing" && `Not used: ${reading.ignored}.`].filter(Boolean).join(" ");
  const { names, means, rows } = reading.sample;
  byId("sample").tHead.replaceChildren(element("tr", {}, ...names.map((name, i) => element("th", { text: name === means[i] ? name : `${name} (${means[i]})` }))));
  byId("sample").tBodies[0].replaceChildren(...rows.map((cells) => element("tr", {}, ...cells.map((text) => element("td", { text })))));
  byId("sample").parentElement.classList.toggle("hidden", !names.length);
  count = countRows(number, body);
}

// Shows below the fields of places and months their problems, or how they are read.
function showFieldNotes({ problems, public_list: places, months }) {
  const problemWithoutField = problems.find(({ key }) => !byId(`f-${key}-note`));
  if (problemWithoutField) show(byId("missing"), `${capitalized(problemWithoutField.text)}.`);
  for (const [role, text] of Object.entries({ places, months })) {
    const key = fieldOfRole(role)?.key, note = byId(`f-${key}-note`), problem = problems.find((candidate) => candidate.key === key);
    if (!note) continue;
    const sentence = problem ? capitalized(problem.text) : text;
    show(note, sentence ? `${sentence}.` : "", problem ? "bad" : "good");
    if (!problem) continue;
    note.append(...encodingButtons(problem.encodings, (encoding) => { setValue(fieldOfRole("text_of_list").key, encoding); draw("check"); byId(`f-${key}`).focus(); startCheck(); }));
  }
}

const setEncoding = (name) => { setValue(fieldOfRole("text_of_file").key, name); draw("check"); byId("share").focus(); chooseFile(state.source).then(startCheck); };

async function countRows(number, body) {
  byId("share").textContent = "Counting rows that cannot be used ...";
  byId("share").removeAttribute("data-share");
  byId("faults").replaceChildren();
  byId("mend").replaceChildren();
  unsaved.rowCounts = null;
  const isListUnread = valueOfRole("places") && unsaved.reading.problems.some((problem) => problem.key === fieldOfRole("places")?.key);
  if (isListUnread) { byId("share").textContent = "Rows are counted once the list of the places can be read."; return; }
  const counts = await post("row_counts", body).catch((error) => ({ not_counted: error.message, faults: [], date_formats: {}, encodings: {} }));
  if (number !== checkNumber) return;
  unsaved.rowCounts = counts;
  byId("share").textContent = [badRowsText(counts), outsideText(counts)].filter(Boolean).join(" ");
  byId("share").setAttribute("data-share", counts.share ?? "none");
  byId("faults").replaceChildren(...counts.faults.map((fault) => element("li", { text: `${rowsText(fault.rows)}: ${fault.text}${positionsText(fault)}` })));
  offerCorrections(counts);
  onCount();
}

// Buttons for other forms of dates, for other encodings, and for leaving bad rows out.
function offerCorrections(counts) {
  const redraw = () => { draw("check"); byId("share").focus(); startCheck(); };
  const [encoding, program] = Object.entries(counts.encodings)[0] ?? [];
  for (const [format, example] of Object.entries(counts.date_formats))
    byId("mend").append(element("button", { type: "button", text: `Dates are written as ${example}${encoding ? `, and the file comes from ${program}` : ""}`, onclick: () => { setValue(fieldOfRole("date_format").key, format); if (encoding) setEncoding(encoding); else redraw(); } }));
  byId("mend").append(...encodingButtons(counts.encodings, setEncoding));
  if (counts.skipped && counts.share < 1 && !counts.mend_first && !skipsBadRows())
    byId("mend").append(element("button", { type: "button", text: "Leave these rows out", onclick: () => { setValue(fieldOfRole("bad_rows").key, "skip"); redraw(); } }));
}

// The positions of the first rows with a fault, for the marked panel.
const positionsText = ({ where, rows }) => (where.length ? ` (${where.join(", ")}${where.length < rows ? ", and others" : ""})` : "");
const rowsText = (rows) => (rows === 1 ? "1 row" : `${rows.toLocaleString("en")} rows`);

// The share of the usable rows that are of other months than those to report, and do not count.
export const outsideShare = (counts) => (counts?.outside ? counts.outside / (counts.rows - counts.skipped) : 0);
const areAllOutside = (counts) => outsideShare(counts) === 1;
export function outsideText(counts) {
  if (!counts.outside) return "";
  const sentence = `${counts.outside.toLocaleString("en")} of ${rowsText(counts.rows)} ${counts.outside === 1 ? "is" : "are"} outside of the months to report, and would not count`;
  return areAllOutside(counts) ? `${sentence}: nothing but noise would come out. Correct “${fieldOfRole("months").label}”.` : `${sentence}.`;
}

export function badRowsText(counts) {
  if (counts.not_counted) return `Rows were not counted: ${counts.not_counted}`;
  if (!counts.skipped) return `0 % of ${rowsText(counts.rows)} cannot be used.`;
  const percent = counts.share < 0.01 ? "" : ` (${Math.round(100 * counts.share)} %)`;
  const badRows = `${counts.skipped.toLocaleString("en")} of ${rowsText(counts.rows)}${percent}`;
  if (counts.share === 1) return `${badRows} cannot be used, so nothing but noise would come out.`;
  if (skipsBadRows()) return `${badRows} would be skipped.`;
  return `${badRows} cannot be used, so the run would stop, and use nothing up.${counts.mend_first ? "" : counts.skipped === 1 ? " Leave it out, or correct it in the file." : " Leave them out, or correct them in the file."}`;
}

let isCheckDue = false; // values have changed since the last check
const checkAfterPause = afterPause(() => checkNow(), 600);
export function checkSoon() {
  isCheckDue = true;
  checkAfterPause();
}
function checkNow() {
  if (!isCheckDue) return;
  isCheckDue = false;
  startCheck();
}

export function listen() {
  for (const answer of ["yes", "no"]) byId(`header-${answer}`).addEventListener("click", () => answerHeader(answer));
  byId("source").addEventListener("change", () => chooseFile(byId("source").value.trim()));
  byId("upload").addEventListener("change", (event) => uploadFile(event.target.files[0]));
  for (const kind of ["dragover", "dragleave", "drop"])
    byId("drop").addEventListener(kind, (event) => {
      event.preventDefault();
      byId("drop").classList.toggle("over", kind === "dragover");
      if (kind === "drop") uploadFile(event.dataTransfer.files[0]);
    });
}
