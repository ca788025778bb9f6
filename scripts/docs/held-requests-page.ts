import {
  type HeaderGroup,
  IGNORED_BY_TYPE,
  IGNORED_HEADERS,
  PARTLY_IGNORED,
  UNINTERESTING_BY_TYPE,
  UNINTERESTING_HEADERS,
} from '../../core/connectors/binding/bound-headers.ts'
import type { Connector } from '../../core/connectors/connector.ts'
import { MAX_MASKED } from '../../core/connectors/fields/json-members.ts'

/**
 * Returns the documentation page with the tables about held requests: ignored fields and members, opaque bodies, pinned
 * states.
 */
export function heldRequestsPage(connectors: readonly Connector[]): string {
  return [
    '# Tables of held requests',
    'The rules are in [held requests](../held-requests.md).',
    ...headers(),
    ...bodies(connectors),
    '## States that are approved',
    table(['Action', 'State', 'Parameters that name it'], pinRows(connectors)),
    '',
  ].join('\n\n')
}

function headers(): readonly string[] {
  const byType = Object.entries(IGNORED_BY_TYPE).flatMap(([type, groups]) =>
    groups.map((group) => line(`\`${type}\``, group)),
  )
  const uninteresting = Object.entries(UNINTERESTING_BY_TYPE).map(
    ([type, names]) => `for \`${type}\` also ${list(names)}`,
  )
  return [
    '## Ignored header fields',
    table(['Connectors', 'Field', 'Why'], [...IGNORED_HEADERS.map((group) => line('all', group)), ...byType]),
    'Of these fields a part of the value is ignored:',
    table(
      ['Connectors', 'Field', 'Ignored'],
      PARTLY_IGNORED.map((group) => line('all', group)),
    ),
    `The card omits ${list(UNINTERESTING_HEADERS)}; ${uninteresting.join('; ')}.`,
  ]
}

function bodies(connectors: readonly Connector[]): readonly string[] {
  const unbound = connectors.flatMap(({ name, unboundMembers = [] }) =>
    unboundMembers.length === 0
      ? []
      : [`\`${name}\`: ${list(unboundMembers.map((path) => path.join(' > ')))}`],
  )
  return [
    '## Bodies',
    `Ignored members, keys from the root down, with values of at most ${MAX_MASKED} characters: ${unbound.join('; ')}.`,
    'Operations with opaque bodies:',
    table(['Action', 'Method', 'Request'], opaqueRows(connectors)),
  ]
}

function pinRows(connectors: readonly Connector[]): ReadonlyArray<readonly string[]> {
  return connectors
    .flatMap(({ pins }) => pins?.entries() ?? [])
    .map(({ actionType, state, takenAs }) => [
      `\`${actionType}\``,
      state,
      takenAs.length === 0 ? '' : list(takenAs),
    ])
}

function opaqueRows(connectors: readonly Connector[]): ReadonlyArray<readonly string[]> {
  return connectors
    .flatMap(({ catalogue = [] }) => catalogue)
    .filter(({ bodies }) => bodies === 'opaque')
    .map(({ type, method = '', template = '' }) => [`\`${type}\``, method, `\`${template}\``])
}

function line(connectors: string, { reason, names }: HeaderGroup): readonly string[] {
  return [connectors, list(names), reason]
}

function list(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ')
}

function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  const lines = rows.map((row) => `| ${row.join(' | ')} |`)
  return [`| ${head.join(' | ')} |`, `|${head.map(() => '---|').join('')}`, ...lines].join('\n')
}
