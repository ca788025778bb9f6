/** Note about a difference between a database row and the manifest that is exported for it. */
export type ExportNote = { readonly effect: ExportEffect; readonly text: string }

/**
 * Consequence of a difference between a database row and its exported manifest. `left_out`: the export contains the
 * manifest only as a comment. `refused`: an installation refuses the manifest; if the manifest is a Policy, everything
 * in its scope is denied. `stricter`: an installation accepts the manifest, which is stricter than the row.
 */
export type ExportEffect = 'left_out' | 'refused' | 'stricter'

/** Prefixes of the comment lines that contain notes in exported YAML. */
const PREFIX: Readonly<Record<ExportEffect, string>> = {
  left_out: '# Not exported: ',
  refused: '# Refused when applied: ',
  stricter: '# Stricter when applied: ',
}

export function noteLine({ effect, text }: ExportNote): string {
  return `${PREFIX[effect]}${text.replace(/\s+/g, ' ')}\n`
}

/** Parses the notes in exported YAML. */
export function readNotes(yaml: string): readonly ExportNote[] {
  const effects = Object.keys(PREFIX) as readonly ExportEffect[]
  return yaml.split('\n').flatMap((line) => {
    const effect = effects.find((each) => line.startsWith(PREFIX[each]))
    return effect === undefined ? [] : [{ effect, text: line.slice(PREFIX[effect].length) }]
  })
}
