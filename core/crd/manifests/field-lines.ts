/**
 * Lines of the fields of a manifest, by path, such as `spec.rules.1.decision`. The empty path is the manifest itself. A
 * field on the line of its parent is omitted.
 */
export type FieldLines = Readonly<Record<string, number>>

/** Maximum length of a path, in UTF-16 code units. A field with a longer path is omitted. */
export const MAX_FIELD_PATH = 1_000

/** Returns the line of a field, or of its nearest parent with a known line; null if no line is known. */
function lineOfField(lines: FieldLines, path: readonly string[]): number | null {
  for (let length = path.length; length >= 0; length--) {
    const line = lines[path.slice(0, length).join('.')]
    if (line !== undefined) return line
  }
  return null
}

/**
 * Returns the line to which a reason or warning refers: the line of the field at the beginning of its text, such as
 * `spec.gatewayRefs[1]` or `spec.rules[0].conditions`, else the first line of the manifest. Fields in the rest of the
 * text do not count, because the rest may contain names and hosts that users wrote. Null if no line is known.
 */
export function lineOfReason(lines: FieldLines, reason: string): number | null {
  const [field = ''] = /^spec(?:\.\w+|\[\d+\])*(?=[: ])/.exec(reason) ?? []
  return lineOfField(
    lines,
    field.split(/[.[\]]+/).filter((part) => part !== ''),
  )
}
