import { PROVIDER_KINDS, type ProviderKind } from '../../core/connectors/provider-side/kinds.ts'
import { type CompiledTable, compileTable, type FieldRow } from '../../core/connectors/provider-side/table.ts'
import { LLM_A_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-a.ts'
import { LLM_B_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-b.ts'
import { LLM_C_PROVIDER_SIDE } from '../../core/connectors/provider-side/table-c.ts'
import { handlesSection } from './handles-section.ts'
import { hostedWorkSection } from './hosted-work-section.ts'

/**
 * Returns the documentation page about model providers, with their actions, tools, fields, operations, handles and
 * cancellations.
 */
export function providerSidePage(): string {
  const tables = [LLM_A_PROVIDER_SIDE, LLM_B_PROVIDER_SIDE, LLM_C_PROVIDER_SIDE].map(compileTable)
  return [TITLE, kindsTable(), handlesSection(), hostedWorkSection(), ...tables.map(sectionOf), ''].join(
    '\n\n',
  )
}

const TITLE =
  '# Model providers\n\nThe rules are in [what your model provider can do on your behalf](../provider-side.md).'

function kindsTable(): string {
  const rows = Object.entries(PROVIDER_KINDS).map(
    ([kind, { risk, reachesOut, does }]) =>
      `| \`${kind}\` | ${risk} | ${reachesOut ? 'unless listed' : 'no'} | The provider ${does}. |`,
  )
  return [
    '## Actions',
    ['| Action | Risk | Denied by default | Meaning |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

function sectionOf(table: CompiledTable): string {
  const { connector, source, opaque, opaqueObjects = [] } = table.table
  const objects = opaqueObjects.map((name) => `an object under \`${name}\``)
  return [
    `## ${connector}`,
    `From the ${source}.`,
    toolTable(table),
    fieldTable(table),
    operationTable(table),
    `Nothing is looked for in members with arbitrary JSON of the caller: ${[...opaque.map((name) => `\`${name}\``), ...objects].join(', ')}.`,
  ].join('\n\n')
}

function toolTable({ tools, toolPlaces }: CompiledTable): string {
  const places = toolPlaces.map((place) => `\`${place.join('.')}\``).join(', ')
  const rows = tools.map(
    ({ type, isPrefix, kinds, isOfCaller, unless }) =>
      `| \`${type}${isPrefix ? '*' : ''}\` | ${isOfCaller ? 'none: the caller runs it' : kindsText(kinds)}${unless === null ? '' : `, unless \`${unless}\` is \`false\``} |`,
  )
  return [
    `Tools, at any depth under ${places}:`,
    ['| Tool | Action |', '|---|---|', ...rows, '| any other | `provider_tool.unknown` |'].join('\n'),
  ].join('\n\n')
}

function kindsText(kinds: readonly ProviderKind[]): string {
  return kinds.length === 0
    ? 'none: it only computes, or contains other tools'
    : kinds.map((kind) => `\`${kind}\``).join(', ')
}

const TARGETS = {
  host: 'host of the URL',
  name: 'the host',
  call: 'host of the SIP URI, or the number',
  text: 'the value',
  unread: 'the value; held, because it names what the gateway does not read',
  none: '',
} as const

function fieldTable({ fields }: CompiledTable): string {
  const rows = fields.map(
    (row) => `| \`${row.end}\` | ${valueText(row)} | ${kindsText(row.kinds)} | ${targetText(row)} |`,
  )
  return [
    'Fields, by the end of their path (`*` is an element of a list, `?` any key, `^` the root of the request):',
    ['| Field | Value | Action | Target |', '|---|---|---|---|', ...rows].join('\n'),
  ].join('\n\n')
}

function targetText({ target, member, fixed }: FieldRow): string {
  if (fixed !== null) return `always \`${fixed}\``
  return member === null ? TARGETS[target] : `\`${member}\` beside it`
}

const VALUE_TEXTS = { equals: '', contains: 'contains ', except: 'other than ' } as const

function valueText({ value }: FieldRow): string {
  if (value === null) return 'any'
  const texts = value.text.split('|').map((text) => `\`${text}\``)
  return `${VALUE_TEXTS[value.by]}${texts.join(', ')}`
}

function operationTable({ operations }: CompiledTable): string {
  const rows = [...operations].map(
    ([type, { kinds, parameter }]) =>
      `| \`${type}\` | ${kindsText(kinds)} | ${parameter === null ? '' : `\`${parameter}\``} |`,
  )
  return [
    'Operations that start work which goes on after the request:',
    ['| Request | Action beside it | Target, if the request has no other |', '|---|---|---|', ...rows].join(
      '\n',
    ),
  ].join('\n\n')
}
