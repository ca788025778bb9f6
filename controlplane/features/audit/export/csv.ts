/** Formats one line of CSV (RFC 4180) with its CRLF. A null cell becomes an empty cell. */
export function csvLine(cells: readonly (string | null)[]): string {
  return `${cells.map((cell) => quoted(harmless(cell ?? ''))).join(',')}\r\n`
}

/**
 * Matches a cell that a spreadsheet would run as a formula, with or without leading blanks. Covers full-width forms of
 * the formula characters.
 */
const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/

/** Prefixes a formula with an apostrophe, so that a spreadsheet shows the text and does not run it. */
function harmless(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
