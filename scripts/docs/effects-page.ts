import type { EffectEntry } from '../../core/connectors/effects/effect-table.ts'
import { effectEntries } from '../../core/connectors/effects/effects.ts'
import type { FieldRule } from '../../core/connectors/effects/fields/field-rule.ts'
import { fieldRules } from '../../core/connectors/effects/fields/of-fields.ts'

/** Returns the documentation page with the effect classes of every operation and the reason for each. */
export function effectsPage(connectors: ReadonlyArray<{ readonly name: string }>): string {
  const sections = connectors.flatMap(({ name }) => sectionOf(name, effectEntries(name)))
  return [TITLE, ...sections, ''].join('\n\n')
}

const TITLE =
  '# Effect classes of operations\n\nTheir meaning and their use in rules: [effect classes](../effect-classes.md).'

function sectionOf(connector: string, entries: readonly EffectEntry[]): readonly string[] {
  if (entries.length === 0) return []
  const rows = [
    ...Map.groupBy(entries, ({ reason, effects }) => `${effects.join(', ')}|${reason}`).values(),
  ].map(rowOf)
  const names = [`## \`${connector}\``, '', '| Classes | Actions | Reason |', '|---|---|---|', ...rows].join(
    '\n',
  )
  const fields = fieldRules(connector)
  return fields.length === 0 ? [names] : [names, fieldTable(fields)]
}

function fieldTable(rules: readonly FieldRule[]): string {
  const rows = rules.map(({ actions, effects, reason }) => {
    const names = actions.length === 0 ? 'all' : actions.map((name) => `\`${name}\``).join(' ')
    return `| ${effects.map((effect) => `\`${effect}\``).join(', ')} | ${names} | ${reason} |`
  })
  return [
    'Fields of a request that add classes to those of its name:',
    '',
    '| Classes | Actions | Fields |',
    '|---|---|---|',
    ...rows,
  ].join('\n')
}

function rowOf(entries: readonly EffectEntry[]): string {
  const [{ effects, reason } = { effects: [], reason: '' }] = entries
  const names = entries.flatMap((entry) =>
    entry.isForReads ? ['all other reads'] : entry.names.map((name) => `\`${name}\``),
  )
  const classes = effects.length === 0 ? 'none' : effects.map((effect) => `\`${effect}\``).join(', ')
  return `| ${classes} | ${names.join(' ')} | ${reason} |`
}
