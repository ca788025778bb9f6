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
import { LIMITS } from '../../core/wire/limits.ts'

/** Generates `docs/actions/held-requests.md`: the binding of an approval, the content of its card, and bodies that are not read. */
export function heldRequestsPage(connectors: readonly Connector[]): string {
  return [
    '# Held requests',
    'Generated from the connectors by `npm run generate`.',
    'An approval is bound to the agent, the connector, method, host, path, query, header fields and body of one request, and to the rules that held it. A client that gave up waiting may send the request again: when the same is asked, it passes by the same approval, once. Anything else is held with a card of its own.',
    ...headers(),
    ...bodies(connectors),
    ...pins(connectors),
    ...events(),
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
    '## Header fields',
    'Every header field that is forwarded is bound, unknown ones too: names without their case, values without the blanks around them, repeated fields in their order. The credentials of the agent are removed before. These fields are ignored:',
    table(['Connectors', 'Field', 'Why'], [...IGNORED_HEADERS.map((group) => line('all', group)), ...byType]),
    'Of these fields a part of the value is ignored:',
    table(
      ['Connectors', 'Field', 'Ignored'],
      PARTLY_IGNORED.map((group) => line('all', group)),
    ),
    `The card shows every bound field except ${list(UNINTERESTING_HEADERS)}, and a \`content-type\` that says JSON, form or multipart form; ${uninteresting.join('; ')}. The value of a field whose name speaks of a secret (\`X-Webhook-Secret\`) is replaced by its length.`,
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
    'A request that needs an approver is refused (415) when its body cannot be read, because nobody could be shown what is approved: text, an unknown media type or none, a `Content-Encoding`, a charset other than UTF-8, a multipart form, or text that is no JSON under the label of JSON. Send JSON or a form. A request that is allowed or denied without an approver is not looked at for this.',
    'Where bodies are files, gRPC messages or another format of their own, the Connector (`bodies: opaque`) or one of its `actions` (`bodies: opaque`) says so: such a request is held, and the card states that the body is not shown, with its size, media type and SHA-256. A gRPC call whose client goes on sending is held by its name where its bodies are declared opaque, and the card says so. On connectors of type `mcp` a body that is no message is held as its action, and the card quotes its first KiB.',
    'These rows of the catalogue declare opaque bodies:',
    table(['Action', 'Method', 'Request'], opaqueRows(connectors)),
    `A body is bound byte for byte. The parts of \`multipart/form-data\` are bound one by one, because an SDK that tries again makes a new boundary. Strings and numbers of at most ${MAX_MASKED} characters in these members of a JSON body are ignored, keys from the root down (${unbound.join('; ')}). Every other member is bound, and the card shows what the action's parameters do not: other keys of \`_meta\`, too.`,
  ]
}

function pins(connectors: readonly Connector[]): readonly string[] {
  const entries = connectors.flatMap(({ pins: table }) => table?.entries() ?? [])
  const rows = entries.map(({ actionType, state, takenAs }) => [
    `\`${actionType}\``,
    state,
    takenAs.length === 0 ? '' : list(takenAs),
  ])
  return [
    '## The state that is approved',
    'An approval is for the state that the approver saw. The gateway reads that state with the credential of the Connector when it opens the card, shows it, and reads it again right before the request is sent. Where it changed, or cannot be read again, the approval is void: the agent gets 403 `approval void`, and nothing was sent. A request that is sent again later passes by the approval only while the state is the same. A state that cannot be read, and an action that is not in this table, are shown as not fixed.',
    table(['Action', 'State', 'Parameters that name it'], rows),
    'Where the request itself names the state in such a parameter (`sha` of a merge), the provider refuses any other. With `pins: send` on the Connector the gateway adds the parameter to an approved request that has none (over REST, and over GraphQL to the only mutation of a request: `expectedHeadOid`, `commitOID`), which leaves no time between the comparison and the merge; the note of the record is then `approved; completed with sha`. The reads are no records of the agent (`svc_provider_look_ups_total`), at most 120 a minute for an agent, 5 s each. A card of `POST /v1/actions` is opened without a gateway: its state is not fixed.',
  ]
}

function events(): readonly string[] {
  const [after, every] = [LIMITS.heldEventsAfterMs / 1000, LIMITS.heldEventsEveryMs / 1000]
  return [
    '## While a request waits',
    `Many clients end a call that is silent for a minute. A held request whose client takes server-sent events gets status 200 and the first event ${after} s after the hold began, and one every ${every} s until there is an answer. The answer of the upstream, or the refusal, is the rest of that stream. A request that is answered earlier, and every other request, is answered as without a hold.`,
    table(
      ['Connectors', 'Requests', 'While it waits', 'Refusal'],
      [
        [
          '`mcp`',
          'one request with an id, other than `initialize`, with `text/event-stream` in `Accept`',
          'a comment, and `notifications/progress` where the client gave a `progressToken`',
          'JSON-RPC error (`-32001`; `-32603` for errors of the upstream)',
        ],
        [
          '`llm_a`',
          '`stream: true`',
          'a comment',
          '`error`; for responses the event `error`, then `response.failed`',
        ],
        ['`llm_b`', '`stream: true`', 'the event `ping`', 'the event `error`'],
        [
          '`llm_c`',
          '`streamGenerateContent` with `alt=sse` by the google-genai SDKs',
          'a blank line',
          '`error` as data',
        ],
      ],
    ),
    'Refusals are in the format of the provider whatever `errorShape` says. The record of a refusal says `DENY`, with the status that was sent: 200. An error of the upstream, or of the connection to it, is an event, too; the record says its own status (429, 502), as without a hold. A request that goes on to the upstream asks for no compression, because the head of the stream was sent before.',
  ]
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
