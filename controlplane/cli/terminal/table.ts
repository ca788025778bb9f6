/** Columns as wide as their longest cell; a line never ends in spaces. */
export function table(headers: readonly string[], rows: readonly (readonly unknown[])[]): string[] {
  const cells = rows.map((row) => row.map(cell))
  const widths = headers.map((header, index) =>
    Math.max(header.length, ...cells.map((row) => (row[index] ?? '').length)),
  )
  const line = (row: readonly string[]) =>
    row
      .map((value, index) => value.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd()
  return [line(headers), ...cells.map(line)]
}

function cell(value: unknown): string {
  if (value === null || value === undefined || value === '') return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : value.map(String).join(',')
  return printable(String(value))
}

/** Text from agents may hold control bytes that would move the cursor or colour the screen. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

/** Control, format and separator characters: they hide, reorder or break what is printed. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
