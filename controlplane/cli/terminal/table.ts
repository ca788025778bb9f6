/** Formats rows as lines with aligned columns, without trailing spaces. */
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

/** Escapes invisible characters, because text from agents may contain terminal control sequences. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

/** Matches control, format and separator characters, which hide, reorder or break printed text. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
