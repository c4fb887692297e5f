// Files of texts, CSV or JSONL: read them, and write them with what was decided.

const READERS = { csv: readCsv, tsv: readCsv, txt: readCsv, jsonl: readJsonl, ndjson: readJsonl, json: readJsonl };
const DELIMITERS = [",", ";", "\t", "|"];
const DELIMITER_LINE = /^sep=(.)\r?\n/; // of Excel
const BYTE_ORDER_MARKS = [["UTF-8", 0xef, 0xbb, 0xbf], ["UTF-16LE", 0xff, 0xfe], ["UTF-16BE", 0xfe, 0xff]];
const REMEDY = "Save it as UTF-8; in Excel, as “CSV UTF-8”.";
const TEXT_COLUMNS = ["title", "text", "body", "abstract", "content", "description"];
const TAG_COLUMNS = ["labels", "tags", "label", "concepts", "subjects", "subject_uris", "subject_labels", "keywords"];
const LONG = 100; // characters of a cell that is more than a name or a list of labels
const SEPARATORS = ["\n", "|", ";", ","]; // between labels in a cell
const LEAST_SHARE = 0.1; // of the cells with the commonest mark: a mark that is in fewer belongs to names
const AMBIGUOUS = /^\[|[|;,\r\n]|:\/\/.*\s|^<|^\s|\s$/; // a label that a cell could be read as several of
const URI = /^<?[a-z][a-z0-9+.-]*:\/\//i;
const BETWEEN_URIS = /[\s|]+|[;,](?=<|[a-z][a-z0-9+.-]*:\/\/)/i;

export function readRecords(name, bytes) {
  const read = READERS[/[^.]*$/.exec(name)[0].toLowerCase()];
  if (!read) throw new Error(`${name} is not a CSV, TSV or JSONL file. In Excel, save the sheet as “CSV UTF-8”.`);
  const found = read(decoded(name, bytes), name);
  if (!found.rows.length) throw new Error(`${name} has no rows.`);
  const twice = found.columns.find((column, place) => found.columns.indexOf(column) < place);
  if (twice !== undefined) throw new Error(`${name} has the column “${twice}” twice. Name each column once.`);
  const tagColumn = TAG_COLUMNS.map((usual) => found.columns.find((column) => isNamed(column, usual))).find(Boolean) ?? "";
  return { name, ...found, textColumns: guessTextColumns(found, tagColumn), tagColumn };
}

// -- reading ---------------------------------------------------------------------------------------------

function decoded(name, bytes) {
  const [encoding, ...mark] = BYTE_ORDER_MARKS.find(([, ...each]) => each.every((byte, place) => bytes[place] === byte)) ?? ["UTF-8"];
  let text;
  try {
    text = new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    const line = encoding === "UTF-8" ? `Line ${damagedLine(bytes)} of ${name}` : name;
    throw new Error(`${line} is not ${encoding} text. ${REMEDY}`);
  }
  if (text.includes("\0")) throw new Error(`${name} is not UTF-8 text: it has NUL characters. ${REMEDY}`);
  return { text, hasMark: mark.length > 0 };
}

function damagedLine(bytes) {
  const decoder = new TextDecoder("UTF-8", { fatal: true });
  for (let line = 1, start = 0; ; line += 1) {
    const end = bytes.indexOf(10, start);
    try {
      decoder.decode(bytes.subarray(start, end < 0 ? bytes.length : end));
    } catch {
      return line;
    }
    start = end + 1;
  }
}

// Lines are kept as they are: numbers may have more digits than a script can hold.
function readJsonl({ text }) {
  const rows = [];
  const lines = [];
  text.split(/\r?\n/).forEach((line, place) => {
    if (!line.trim()) return;
    let row;
    try {
      row = JSON.parse(line);
    } catch {
      throw new Error(`Line ${place + 1} is not JSON; the file must have one object per line.`);
    }
    if (typeof row === "string") [row, line] = [{ text: row }, `{"text": ${line.trim()}}`];
    if (row === null || typeof row !== "object" || Array.isArray(row)) throw new Error(`Line ${place + 1} is not an object.`);
    rows.push(row);
    lines.push(line);
  });
  return { kind: "jsonl", columns: [...new Set(rows.flatMap(Object.keys))], rows, lines };
}

function readCsv({ text, hasMark }, name) {
  const [start, given] = DELIMITER_LINE.exec(text) ?? ["", /\.tsv$/i.test(name) ? "\t" : ""];
  const content = text.slice(start.length);
  const header = content.split("\n", 1)[0].replaceAll(/"[^"]*"/g, "");
  const delimiter = given || DELIMITERS.reduce((best, each) => (header.split(each).length > header.split(best).length ? each : best));
  const [columns, ...cells] = parseCsv(content, delimiter);
  const rows = cells.map((row, place) => {
    if (row.length !== columns.length) {
      throw new Error(`Row ${place + 1} has ${row.length} cells where the header has ${columns.length}.`);
    }
    return Object.fromEntries(columns.map((column, number) => [column, row[number]]));
  });
  return { kind: "csv", start: `${hasMark ? "\uFEFF" : ""}${start}`, delimiter, columns, rows };
}

function parseCsv(text, delimiter) {
  const rows = [[]];
  const mark = `\\u${delimiter.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${mark}\\r\\n][^${mark}\\r\\n]*)?)(${mark}|\\r?\\n|$)`, "gy");
  while (cell.lastIndex < text.length) {
    const at = cell.lastIndex;
    const match = cell.exec(text);
    if (!match) throw new Error(`Line ${text.slice(0, at).split("\n").length} has a quotation mark that is not closed or not doubled.`);
    rows.at(-1).push(match[1] === undefined ? (match[2] ?? "") : match[1].replaceAll('""', '"'));
    if (match[3] !== delimiter) rows.push([]);
    else if (cell.lastIndex === text.length) rows.at(-1).push("");
  }
  return rows.filter((row) => row.length > 1 || row[0]);
}

// -- columns ---------------------------------------------------------------------------------------------

const isNamed = (column, name) => column.trim().toLowerCase() === name;

// The columns that most likely hold the text: those with a usual name, and the one with the longest cells if they are long.
function guessTextColumns({ columns, rows }, tagColumn) {
  const some = rows.slice(0, 100);
  const length = (column) => some.reduce((total, row) => total + textOf(row, [column]).length, 0) / some.length;
  const others = columns.filter((column) => column !== tagColumn || columns.length === 1);
  const longest = others.reduce((best, column) => (length(column) > length(best) ? column : best));
  const usual = others.filter((column) => TEXT_COLUMNS.some((name) => isNamed(column, name)));
  if (!usual.length) return [longest];
  return others.filter((column) => usual.includes(column) || (column === longest && length(column) > LONG));
}

export function textOf(row, columns) {
  return columns
    .map((column) => row[column] ?? "")
    .map((value) => (Array.isArray(value) ? value.join(" ") : String(value)))
    .filter(Boolean)
    .join("\n");
}

// The tags that a row of a file has already, read as the command line reads labels.
export function tagsOf(row, { kind, rows, tagColumn }) {
  const value = row[tagColumn];
  if (!value) return [];
  const listed = kind === "csv" ? tagsOfCell(value, () => separatorOf(rows.map((each) => each[tagColumn]))) : [value].flat();
  const tags = listed.map((tag) => String(tag?.uri || (tag?.label ?? tag ?? "")).trim());
  return tags.map((tag) => (URI.test(tag) ? tag.replace(/^<(.*)>$/, "$1") : tag)).filter(Boolean);
}

function tagsOfCell(cell, separator) {
  if (!cell.startsWith("[")) return cell.split(separator());
  try {
    return JSON.parse(cell);
  } catch {
    return [cell];
  }
}

// What separates the tags of a column, by all of its cells.
function separatorOf(cells) {
  const filled = cells.map((cell) => cell.trim()).filter((cell) => cell && !cell.startsWith("["));
  if (filled.every((cell) => cell.split(BETWEEN_URIS).every((part) => !part || URI.test(part)))) return BETWEEN_URIS;
  const uses = SEPARATORS.map((mark) => filled.filter((cell) => cell.includes(mark)).length);
  return SEPARATORS[uses.findIndex((n) => n && n >= LEAST_SHARE * Math.max(...uses))] ?? ",";
}

// -- writing ---------------------------------------------------------------------------------------------

// The decided rows with two columns more; `decided` has, by row, the accepted and the rejected labels.
export function writeRecords({ kind, start, delimiter, columns, rows, lines }, decided) {
  const added = ["accepted", "rejected"].map((name) => freeName(name, columns));
  const chosen = [...decided].sort(([one], [other]) => one - other);
  if (kind === "jsonl") {
    return chosen.map(([row, { accepted, rejected }]) => extended(lines[row], added, [accepted, rejected])).join("");
  }
  const quoted = (value) => (/["\r\n]/.test(value) || value.includes(delimiter) ? `"${value.replaceAll('"', '""')}"` : value);
  const table = chosen.map(([row, { accepted, rejected }]) => [
    ...columns.map((column) => rows[row][column]),
    cellOf(accepted),
    cellOf(rejected),
  ]);
  return start + [[...columns, ...added], ...table].map((cells) => `${cells.map(quoted).join(delimiter)}\r\n`).join("");
}

function extended(line, names, values) {
  const inside = line.trim().slice(1, -1).trim();
  const members = names.map((name, place) => `${JSON.stringify(name)}: ${JSON.stringify(values[place])}`);
  return `{${[...(inside ? [inside] : []), ...members].join(", ")}}\n`;
}

// Labels as a cell that is read as the same labels, whatever the other cells of its column are.
function cellOf(labels) {
  return labels.some((label) => AMBIGUOUS.test(label)) ? JSON.stringify(labels) : labels.join("|");
}

function freeName(name, columns) {
  return columns.includes(name) ? freeName(`${name}_here`, columns) : name;
}
