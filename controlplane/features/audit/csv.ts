/** Formats one line of RFC 4180 with its CRLF. Null is an empty cell. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map((cell) => quoted(harmless(cell ?? ''))).join(',')}\r\n`
}

/** Cells that a spreadsheet runs as a formula, with or without leading blanks; full-width forms included. */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/

/** Prefixes an apostrophe, so that a spreadsheet shows the text instead of running it. */
function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
