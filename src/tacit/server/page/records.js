// Files of texts, CSV or JSONL: read them, and write them with what was decided.

const DELIMITERS = [",", ";", "\t"];
const TEXT_COLUMNS = ["title", "text", "body", "abstract", "content", "description"];
const LONG = 100; // characters of a cell that is more than a name or a list of labels
const SEPARATOR = "|"; // between labels in a cell

export function readRecords(name, content) {
  const text = content.replace(/^\uFEFF/, "");
  const found = /\.(jsonl|ndjson|json)$/i.test(name) ? readJsonl(text) : readCsv(text);
  if (!found.rows.length) throw new Error(`${name} has no rows.`);
  return { name, ...found };
}

function readJsonl(text) {
  const rows = [];
  text.split(/\r?\n/).forEach((line, place) => {
    if (!line.trim()) return;
    let row;
    try {
      row = JSON.parse(line);
    } catch {
      throw new Error(`Line ${place + 1} is not JSON; the file must have one object per line.`);
    }
    if (typeof row === "string") row = { text: row };
    if (row === null || typeof row !== "object" || Array.isArray(row)) throw new Error(`Line ${place + 1} is not an object.`);
    rows.push(row);
  });
  return { kind: "jsonl", columns: [...new Set(rows.flatMap(Object.keys))], rows };
}

function readCsv(text) {
  const header = text.split("\n", 1)[0].replaceAll(/"[^"]*"/g, "");
  const delimiter = DELIMITERS.reduce((best, each) => (header.split(each).length > header.split(best).length ? each : best));
  const [columns, ...cells] = parseCsv(text, delimiter);
  const rows = cells.map((row, place) => {
    if (row.length !== columns.length) {
      throw new Error(`Row ${place + 1} has ${row.length} cells where the header has ${columns.length}.`);
    }
    return Object.fromEntries(columns.map((column, number) => [column, row[number]]));
  });
  return { kind: "csv", delimiter, columns, rows };
}

function parseCsv(text, delimiter) {
  const rows = [[]];
  const cell = new RegExp(`(?:"([^"]*(?:""[^"]*)*)"|([^"${delimiter}\\r\\n][^${delimiter}\\r\\n]*)?)(${delimiter}|\\r?\\n|$)`, "gy");
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

// The columns that most likely hold the text: those with a usual name, and the one with the longest cells if they are long.
export function guessColumns({ columns, rows }) {
  const some = rows.slice(0, 100);
  const length = (column) => some.reduce((total, row) => total + textOf(row, [column]).length, 0) / some.length;
  const longest = columns.reduce((best, column) => (length(column) > length(best) ? column : best));
  const usual = columns.filter((column) => TEXT_COLUMNS.includes(column.toLowerCase()));
  if (!usual.length) return [longest];
  return columns.filter((column) => usual.includes(column) || (column === longest && length(column) > LONG));
}

export function textOf(row, columns) {
  return columns
    .map((column) => row[column] ?? "")
    .map((value) => (Array.isArray(value) ? value.join(" ") : String(value)))
    .filter(Boolean)
    .join("\n");
}

// The decided rows with two columns more; `decided` has, by row, the accepted and the rejected labels.
export function writeRecords({ kind, delimiter, columns, rows }, decided) {
  const added = ["accepted", "rejected"].map((name) => freeName(name, columns));
  const chosen = [...decided].sort(([one], [other]) => one - other);
  if (kind === "jsonl") {
    const lines = chosen.map(([row, labels]) => ({ ...rows[row], [added[0]]: labels.accepted, [added[1]]: labels.rejected }));
    return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }
  const quoted = (value) => (/["\r\n]/.test(value) || value.includes(delimiter) ? `"${value.replaceAll('"', '""')}"` : value);
  const table = chosen.map(([row, { accepted, rejected }]) => [
    ...columns.map((column) => rows[row][column]),
    accepted.join(SEPARATOR),
    rejected.join(SEPARATOR),
  ]);
  return [[...columns, ...added], ...table].map((cells) => `${cells.map(quoted).join(delimiter)}\r\n`).join("");
}

function freeName(name, columns) {
  return columns.includes(name) ? freeName(`${name}_here`, columns) : name;
}
