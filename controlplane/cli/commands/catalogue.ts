import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import type { CatalogueRow } from '../../../core/connectors/connector.ts'
import { effectsOf } from '../../../core/connectors/effects/effects.ts'
import { connectorTitle } from '../../../core/connectors/registry.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { nearest } from '../../../core/nearest.ts'
import { usageError } from '../arguments.ts'
import { type Command, EXIT, flag, type Invocation, text } from '../command.ts'
import { table } from '../terminal/table.ts'

export const catalogue: Command = {
  name: 'catalogue',
  summary: 'List the known actions and their requests; works offline',
  usage: ['catalogue [--connector TYPE] [--search TEXT] [--json]'],
  details:
    'Permissions and policies name these actions. A request that is not listed has the action <connector>.unmapped.<method>.\n' +
    'Tools of MCP servers have the action mcp.tools.<name>.',
  maxArguments: Number.POSITIVE_INFINITY,
  options: {
    connector: {
      type: 'string',
      value: 'TYPE',
      help: 'connector type, for example codehost (GitHub), payments (Stripe), mcp',
    },
    search: {
      type: 'string',
      value: 'TEXT',
      help: 'words that occur in provider, action, effect classes, method or path',
    },
  },
  examples: [
    ['chaperone catalogue --connector payments', 'list every operation of the payment provider'],
    ['chaperone catalogue --search "delete branch"', 'find the action that deletes branches'],
    ['chaperone catalogue --search money_out', 'list every operation of an effect class'],
  ],
  run,
}

type Listed = CatalogueRow & { readonly connector: string; readonly effects: readonly string[] }

async function run(invocation: Invocation): Promise<number> {
  if (invocation.positionals.length > 0) {
    throw usageError(
      catalogue,
      `The argument ${invocation.positionals[0]} is not expected. Did you mean --search ${invocation.positionals[0]}?`,
    )
  }
  const { terminal } = invocation
  const rows = find(text(invocation, 'connector'), text(invocation, 'search') ?? '')
  if (flag(invocation, 'json')) {
    terminal.print(JSON.stringify(rows))
    return EXIT.ok
  }
  const cells = rows.map(({ type, effect, effects, risk, method, template }) => [
    type,
    effect,
    effects.join(','),
    risk,
    method,
    template,
  ])
  const columns = ['ACTION', 'EFFECT', 'CLASSES', 'RISK', 'METHOD', 'PATH']
  for (const line of table(columns, cells)) terminal.print(line)
  const names = new Set(rows.map(({ type }) => type)).size
  const types = [...new Set(rows.map(({ connector }) => connectorTitle(connector)))]
  terminal.warn(
    `${names} actions, ${rows.length} operations${types.length > 0 ? ` of ${types.join(', ')}` : ''}`,
  )
  return EXIT.ok
}

/** Returns the matching rows of the catalogue, sorted by action. Several operations may have the same action. */
function find(connector: string | undefined, search: string): readonly Listed[] {
  const known = createCatalogue()
  if (connector !== undefined && !known.connectors.includes(connector))
    throw unknownConnector(connector, known.connectors)
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '')
  return known.connectors
    .filter((name) => connector === undefined || name === connector)
    .flatMap((name) => known.rows(name).map((row) => listed(name, row)))
    .filter(({ type, connector: name, effects, method = '', template = '' }) => {
      const line = `${connectorTitle(name)} ${type} ${effects.join(' ')} ${method} ${template}`.toLowerCase()
      return words.every((word) => line.includes(word))
    })
    .toSorted((a, b) => (a.type < b.type ? -1 : a.type > b.type ? 1 : 0))
}

function listed(connector: string, row: CatalogueRow): Listed {
  return { connector, ...row, effects: effectsOf({ type: row.type, connector, effect: row.effect }) ?? [] }
}

function unknownConnector(given: string, known: readonly string[]): ChaperoneError {
  const ofProvider = known.find((type) =>
    connectorTitle(type).toLowerCase().startsWith(`${given.toLowerCase()} (`),
  )
  const meant = ofProvider ?? nearest(given, known)
  const hint =
    meant === undefined
      ? `Connector types: ${known.map(connectorTitle).join(', ')}.`
      : `Did you mean ${meant}?`
  return new ChaperoneError('validation', { detail: `${given} is not a connector type. ${hint}` })
}
