import { type EffectClass, isEffectClass } from '../../action/effect-class.ts'

/** One line of a table of effect classes: some actions, their classes, and the reason. `none` means no class. */
export type EffectEntry = {
  readonly effects: readonly EffectClass[]
  /** Action names without the connector prefix. Empty for the line `none @reads`, which covers all other reads. */
  readonly names: readonly string[]
  readonly isForReads: boolean
  readonly reason: string
}

/**
 * Reads a table of effect classes: `CLASS[,CLASS…] NAME…`, or `none NAME…`, below a line `# REASON`. NAME is an action
 * without the connector prefix; `pr.{close,merge}` stands for several. `none @reads` covers every read without a line
 * of its own; each write must be listed. Throws for an invalid line or a duplicate action.
 */
export function readEffects(table: string): readonly EffectEntry[] {
  const entries: EffectEntry[] = []
  let reason = ''
  for (const line of table.split('\n').map((each) => each.trim())) {
    if (line.startsWith('#')) reason = line.slice(1).trim()
    else if (line !== '') entries.push(readEntry(line, reason))
  }
  refuseRepeated(entries)
  return entries
}

function readEntry(line: string, reason: string): EffectEntry {
  const [classes = '', ...columns] = line.split(/ +/)
  const effects = classes === 'none' ? [] : classes.split(',').map(readClass)
  const isForReads = columns.includes('@reads')
  return { effects, names: isForReads ? [] : columns.flatMap(spread), isForReads, reason }
}

function readClass(text: string): EffectClass {
  if (!isEffectClass(text)) throw new Error(`the table of effect classes has the unknown class "${text}"`)
  return text
}

function spread(column: string): readonly string[] {
  const [, head = '', verbs] = /^(.*)\{(.*)\}$/.exec(column) ?? []
  return verbs === undefined ? [column] : verbs.split(',').map((verb) => head + verb)
}

function refuseRepeated(entries: readonly EffectEntry[]): void {
  const names = entries.flatMap((entry) => entry.names)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined)
    throw new Error(`the table of effect classes lists the action ${repeated} more than once`)
}
