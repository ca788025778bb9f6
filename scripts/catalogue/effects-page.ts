import { EFFECT_CLASSES, EFFECT_MEANINGS } from '../../core/action/effect-class.ts'
import type { EffectEntry } from '../../core/connectors/effects/effect-table.ts'
import { effectEntries } from '../../core/connectors/effects/effects.ts'
import type { FieldRule } from '../../core/connectors/effects/fields/field-rule.ts'
import { fieldRules } from '../../core/connectors/effects/fields/of-fields.ts'

/** Generates `docs/actions/effects.md`: the effect classes, their use in rules, and the class of every operation. */
export function effectsPage(connectors: ReadonlyArray<{ readonly name: string }>): string {
  const sections = connectors.flatMap(({ name }) => sectionOf(name, effectEntries(name)))
  return [INTRODUCTION, classTable(), USE, UNKNOWN, ...sections, ''].join('\n\n')
}

const INTRODUCTION = [
  '# Effect classes',
  '',
  'Generated from the tables of `core/connectors/effects` by `npm run generate`. An action has one name and any number of effect classes. Several names share a class: a merge by pull request, by the merges API and by GraphQL is `merge`. A rule on a class also covers operations that later versions add.',
].join('\n')

function classTable(): string {
  const rows = EFFECT_CLASSES.map((effect) => `| \`${effect}\` | ${EFFECT_MEANINGS[effect]} |`)
  return ['| Class | Meaning |', '|---|---|', ...rows].join('\n')
}

const USE = `## Rules

A condition of a policy reads the list \`action.effects\`:

\`\`\`yaml
rules:
  - name: no lost history
    conditions: ['"rewrite_history" in action.effects']
    decision: deny
  - name: code runs elsewhere
    conditions: ['action.effects.exists(e, e in ["code_execution", "delegate"])']
    decision: require_approval
    approver_groups: [release-managers]
\`\`\`

The pattern of a permission is \`effect:\` and a class:

\`\`\`yaml
rules:
  - { connectorType: codehost, actionPattern: codehost.*, decision: allow }
  - { connectorType: codehost, actionPattern: effect:merge, decision: require_approval }
\`\`\`

A permission for a class stands beside the permission for the name, however specific that is, and the strictest decides. Of several for one class the agent's own comes before its namespace's, and that before the one for every agent. Where no pattern over names matches, the classes permit an action only if each of its classes has a permission; an action without a class is never permitted that way.`

const UNKNOWN = `## Unknown classes

A request that no row describes (\`codehost.unmapped.post\`), a tunnel, an unread WebSocket, a mutation that the catalogue lacks and \`mcp.rpc.unknown\` have no known classes. There \`action.effects\` has no value, so that a rule that reads it can only tighten, and every permission for a class that denies or holds applies. A condition such as \`action.unmapped || "merge" in action.effects\` says so explicitly.

Tools of MCP servers, \`generic\`, \`webhook\` and own action types have no classes. A row of \`Connector.spec.actions\` declares its own with \`effects: [merge]\`.`

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
