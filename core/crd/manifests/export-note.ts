/** What differs when a manifest that stands for a row is applied. */
export type ExportNote = { readonly effect: ExportEffect; readonly text: string }

/**
 * `left_out`: it is printed as a comment. `refused`: it is refused, and a policy denies its scope. `stricter`: it is accepted, and
 * decides more strictly than the row.
 */
export type ExportEffect = 'left_out' | 'refused' | 'stricter'

/** How the lines of notes begin in exported YAML. */
const PREFIX: Readonly<Record<ExportEffect, string>> = {
  left_out: '# Not exported: ',
  refused: '# Refused when applied: ',
  stricter: '# Stricter when applied: ',
}

/** One line. */
export function noteLine({ effect, text }: ExportNote): string {
  return `${PREFIX[effect]}${text.replace(/\s+/g, ' ')}\n`
}

/** The notes in exported YAML. */
export function readNotes(yaml: string): readonly ExportNote[] {
  const effects = Object.keys(PREFIX) as readonly ExportEffect[]
  return yaml.split('\n').flatMap((line) => {
    const effect = effects.find((each) => line.startsWith(PREFIX[each]))
    return effect === undefined ? [] : [{ effect, text: line.slice(PREFIX[effect].length) }]
  })
}
