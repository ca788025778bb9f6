import {
  MAX_DOCUMENT_CHARS,
  MAX_FIELDS,
  MAX_STEPS,
  MAX_TOKENS,
} from '../../core/connectors/codehost/graphql/document.ts'
import { MAX_GRAPHQL_BATCH } from '../../core/connectors/codehost/graphql/request.ts'
import { PUSH_HEAD_BYTES } from '../../core/connectors/codehost/push/actions.ts'
import { MAX_COMMANDS } from '../../core/connectors/codehost/push/commands.ts'
import { MAX_WALK_STEPS } from '../../core/connectors/codehost/push/fast-forward.ts'
import { PACK_BUDGET } from '../../core/connectors/codehost/push/pack.ts'
import { EVENT_SLICE } from '../../core/connectors/mcp/event-stream.ts'
import { NAMES_PER_SLICE, TOOL_LIST_BOUNDS } from '../../core/connectors/mcp/tool-list.ts'
import { MAX_MCP_BATCH } from '../../core/connectors/mcp.ts'
import { MAX_MATCH_STEPS } from '../../core/decision/conditions/cel-environment.ts'
import { ELEMENTS, MAX_COST } from '../../core/decision/conditions/cel-shape.ts'
import { FACT_BOUNDS } from '../../core/decision/facts/facts.ts'
import { BODY_FACT_BOUNDS } from '../../core/decision/facts/request-facts.ts'
import { MAX_PART_HEAD, MAX_PARTS } from '../../core/request/body/multipart.ts'
import {
  MAX_JSON_COMMAS,
  MAX_JSON_DEPTH,
  MAX_JSON_NODES,
  SCAN_BOUNDS,
  SLOW_KEY_NODES,
} from '../../core/request/json/json-bounds.ts'
import { MAX_NUMBER_BYTES } from '../../core/request/json/json-lexer.ts'
import { MAX_LOOSE_CHARS } from '../../core/request/json/loose-json.ts'
import { MAX_FORM_PAIRS } from '../../core/request/target.ts'
import { LIMITS } from '../../core/wire/schema/limits.ts'

const KIB = 1024
const MIB = 1024 * KIB

function bytes(count: number): string {
  return count >= MIB ? `${count / MIB} MiB` : `${count / KIB} KiB`
}

function number(count: number): string {
  return count.toLocaleString('en-US')
}

type Row = readonly [input: string, size: string, structure: string, work: string, beyond: string]

const REQUESTS: readonly Row[] = [
  [
    'HTTP/1.1 and HTTP/2 head, query included',
    bytes(LIMITS.headerBlockBytes),
    'characters of RFC 9112 only',
    'searched once, however small the chunks',
    '431',
  ],
  ['Chunked body', '256 bytes a size line', '4 KiB of extensions', 'one pass as it arrives', '400'],
  ['WebSocket frames, tunnels', 'not read', '', 'spliced', ''],
  [
    'WebSocket message that is read (`webSocketMessages`)',
    bytes(LIMITS.modelBodyBytes),
    'text; strict JSON; RFC 6455 without extensions',
    'as a body that is read whole',
    'event 413 or 503; close code 1002',
  ],
  [
    'Body that names or decides',
    bytes(LIMITS.decidingBodyBytes),
    'as its format',
    `above ${bytes(LIMITS.pacedBodyBytes)} one turn of the event loop for each stage`,
    '413',
  ],
  [
    'Model request (JSON of OpenAI (`llm_a`), Anthropic (`llm_b`), Gemini (`llm_c`) from which the provider computes), held ones included',
    bytes(LIMITS.modelBodyBytes),
    `depth ${MAX_JSON_DEPTH}; ${number(SCAN_BOUNDS.openKeys)} keys and ${bytes(SCAN_BOUNDS.openKeyChars)} of keys in objects that are open at one place; numbers of ${bytes(MAX_NUMBER_BYTES)}; fields that name and describe the request: ${bytes(SCAN_BOUNDS.keptBytes)}, bounded as JSON`,
    `one scan to its end, without a value of it, in slices of ${bytes(SCAN_BOUNDS.sliceBytes)}, one in a turn of the event loop`,
    '413; 400 for depth and numbers',
  ],
  [
    'Bodies that are kept, of all requests together',
    '`BODY_BUDGET_BYTES`, by default a quarter of the memory limit of the process and at most 1 GiB',
    '',
    `a body waits ${LIMITS.bodyBudgetWaitMs / 1000} s for room; it is kept until the upstream begins to answer`,
    '503 with `Retry-After`; 413 for a body that never fits',
  ],
  ['Body of a held request', bytes(LIMITS.heldBodyBytes), 'as its format', 'the same', '413'],
  [
    'JSON',
    'as its body',
    `depth ${MAX_JSON_DEPTH}; ${number(MAX_JSON_NODES)} objects, lists and keys (a key with escapes, or that has to be folded, counts ${SLOW_KEY_NODES}); ${number(MAX_JSON_COMMAS)} members and elements`,
    'counted before it is parsed, no further than the bound',
    '413; 400 for the depth',
  ],
  [
    'JSON that strict parsers refuse (MCP)',
    `${bytes(MAX_LOOSE_CHARS)} are looked at`,
    '',
    'one pass',
    'taken for JSON that a lenient server reads: 400',
  ],
  ['Form', 'as its body', `${number(MAX_FORM_PAIRS)} fields`, 'counted before it is read', '413'],
  [
    'Multipart form',
    'as its body',
    `${number(MAX_PARTS)} parts, ${bytes(MAX_PART_HEAD)} of header fields each`,
    'one pass, no further than the bound',
    'not readable: 415 where it has to be read',
  ],
  [
    'Actions of one request: calls of an MCP batch, fields of a GraphQL mutation, references of a push',
    '',
    `${LIMITS.actionsPerRequest}, or \`maxActionsPerRequest\` of the Gateway`,
    'counted once the request is named',
    '413',
  ],
  [
    'GraphQL',
    `${bytes(MAX_DOCUMENT_CHARS)} of documents`,
    `${number(MAX_TOKENS)} tokens, ${MAX_GRAPHQL_BATCH} messages, ${MAX_FIELDS} root fields`,
    `${number(MAX_STEPS)} selections, fragments included`,
    '400 or 413',
  ],
  ['MCP messages', 'as JSON', `${MAX_MCP_BATCH} in a batch`, 'one pass', '400'],
  [
    'Push: references',
    bytes(PUSH_HEAD_BYTES),
    `${MAX_COMMANDS} references`,
    'each line once, however small the chunks',
    '400',
  ],
  [
    'Push to GitHub (`codehost`): commits and tags of the pack (trees and blobs are never inflated)',
    `${bytes(PACK_BUDGET.bytes)} inflated, ${bytes(PACK_BUDGET.objectBytes)} an object, ${PACK_BUDGET.ratio} inflated for each byte of the pack beyond the first ${bytes(PACK_BUDGET.objectBytes)}; ${bytes(LIMITS.inflatedBytesPerMinute)} an agent and minute`,
    `${number(PACK_BUDGET.objects)} objects, ${number(MAX_WALK_STEPS)} steps to the old commits`,
    `slices of ${bytes(PACK_BUDGET.sliceBytes)}, one in a turn of the event loop`,
    'not proven to be a fast-forward: `codehost.git.force_push`; 429 for the agent',
  ],
  [
    'Facts of a condition (CEL)',
    `${bytes(FACT_BOUNDS.text)} of text; \`request.body\` ${bytes(BODY_FACT_BOUNDS.bytes)} and ${number(BODY_FACT_BOUNDS.nodes)} values`,
    `depth ${FACT_BOUNDS.nesting}, lists of ${FACT_BOUNDS.list}, ${FACT_BOUNDS.keys} keys`,
    `${number(MAX_COST)} steps, ${ELEMENTS} elements of one comprehension`,
    'no value: the condition tightens',
  ],
  [
    'Regular expression (RE2)',
    `${number(MAX_MATCH_STEPS)} characters times instructions of the pattern`,
    '',
    'linear time',
    'no value: the condition tightens',
  ],
]

const ANSWERS: readonly Row[] = [
  ['Head', '256 KiB', '64 interim answers', 'searched once, however small the chunks', '502'],
  ['Chunked body', '4 KiB a size line', '64 KiB of trailers', 'one pass as it arrives', '502'],
  [
    'Answer to `tools/list`, whole or an event (`mcp.filterTools`)',
    bytes(TOOL_LIST_BOUNDS.chars),
    `${number(TOOL_LIST_BOUNDS.tools)} tools; ${number(TOOL_LIST_BOUNDS.nodes)} objects, lists and keys; ${number(TOOL_LIST_BOUNDS.commas)} elements`,
    `slices of ${NAMES_PER_SLICE} names, ${EVENT_SLICE.events} events or ${bytes(EVENT_SLICE.chars)}; ${LIMITS.answerEditMs} ms an answer for all stages; events are searched once, however small the chunks`,
    'passes unfiltered: each call is decided on its own',
  ],
  [
    'Ids of handles and hosted work in an answer; the key that names a streamed request',
    '1 MiB, in a stream of each event; 256 KiB of a request',
    '',
    `read as it arrives; ${LIMITS.answerEditMs} ms an answer for all stages`,
    'not read further; the record notes `time budget used up` with the stages',
  ],
  [
    'Injected secret in header fields, trailers and (`scrubResponses`) text',
    'no bound',
    '',
    'linear time; holds back at most the length of the secret',
    'never passes unscrubbed',
  ],
  ['Compressed answer', 'not read', '', '', 'passes as it is'],
  ['Answer to `/execute`', '1 MiB is kept', '', 'as it arrives', 'cut'],
]

/** Generates `docs/limits.md`, which lists the maximum sizes that the gateway reads. */
export function limitsPage(): string {
  return `<!-- Generated by npm run generate. -->
# Limits of what the gateway reads

Agents and upstreams choose what they send. Every parser has a bound on bytes and structure, and long work runs in slices:
of all requests together one slice runs in each turn of the event loop, so that other requests and the kill switch are
served in between. Agents take turns: the work of one agent delays that of another by one slice at a time. An exchange that the agent or the kill switch ended is not read any further.

## Requests

${table(REQUESTS)}

Requests that are denied whatever their body says are denied by their request line. Their body is not waited for; one of at
most 16 KiB that is here already names the record.

## Answers

${table(ANSWERS)}

## Watchdog

A turn of the event loop that takes longer than \`EVENT_LOOP_BLOCKED_MS\` (default 200) is logged (\`event loop blocked\`, with
the stage and \`blocked_ms\`) and counted in \`svc_event_loop_blocked_total{stage}\`. \`stage\` is the stage of the pipeline that ran, or
\`other\`: other code of the process, garbage collection, or a machine that gave the process no time.
`
}

function table(rows: readonly Row[]): string {
  const head = ['| Input | Bytes | Structure | Work | Beyond |', '|---|---|---|---|---|']
  return [...head, ...rows.map((row) => `| ${row.join(' | ')} |`)].join('\n')
}
