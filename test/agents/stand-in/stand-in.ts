import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Seen, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { readChat, writeChat } from './chat-completions.ts'
import type { Conversation, Json, Reply } from './conversation.ts'
import { writeJson } from './events.ts'
import { readContent, writeContent } from './generate-content.ts'
import { answerMcp } from './mcp-server.ts'
import { readMessage, writeMessage } from './messages.ts'
import { readResponse, writeResponse } from './responses.ts'
import { scriptedReply } from './script.ts'

export const MCP_HOST = 'mcp.tools.example'
const TOKEN_TABLES = 'tiktoken.pages.dev'
const HOSTS = [
  'api.github.com',
  'github.com',
  'api.openai.com',
  'api.anthropic.com',
  'generativelanguage.googleapis.com',
  MCP_HOST,
  TOKEN_TABLES,
]

/** What one cell did upstream. A cell names itself as `cell:NAME` in its prompt, and as the title of its issue. */
export type Activity = {
  modelCalls: number
  streamedModelCalls: number
  issues: number
  /** Names of the tools that the model was offered. */
  readonly offered: Set<string>
  /** What the tool returned to the model. */
  readonly results: string[]
}

export type StandIn = {
  readonly port: number
  readonly ca: string
  activity(cell: string): Activity
  /** Requests that carry one of these texts anywhere, as `METHOD host target: text`. */
  requestsWith(texts: readonly string[]): readonly string[]
  close(): Promise<void>
}

type Format = {
  readonly read: (body: Json, isStream: boolean) => Conversation
  readonly write: (response: ServerResponse, reply: Reply, isStream: boolean) => ServerResponse
}

const FORMATS: ReadonlyArray<readonly [path: RegExp, format: Format]> = [
  [/\/chat\/completions$/, { read: readChat, write: writeChat }],
  [/\/v1\/responses$/, { read: readResponse, write: writeResponse }],
  [/\/v1\/messages$/, { read: readMessage, write: writeMessage }],
  [/:(stream)?[gG]enerateContent$/, { read: readContent, write: writeContent }],
]

/** One server in the place of the model providers, the code host and an MCP server. */
export async function startStandIn(): Promise<StandIn> {
  const ca = createTestCa()
  const cells = new Map<string, Activity>()
  const activity = (cell: string): Activity => {
    const known = cells.get(cell)
    if (known !== undefined) return known
    const made = { modelCalls: 0, streamedModelCalls: 0, issues: 0, offered: new Set<string>(), results: [] }
    cells.set(cell, made)
    return made
  }
  const recorder = await startRecorder({
    tls: ca.issue(...HOSTS),
    answer: (request, response, seen) => {
      request.on('end', () => answer({ request, response, seen }, activity))
    },
  })
  return {
    ...{ port: recorder.port, ca: ca.cert, activity },
    requestsWith: (texts) => recorder.seen.flatMap((seen) => textsIn(seen, texts)),
    close: () => recorder.close(),
  }
}

/** In the format of js-tiktoken: every character is a token. */
const TOKEN_TABLE = { pat_str: '.', special_tokens: {}, bpe_ranks: '' }

type Call = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly seen: Seen }

function answer({ request, response, seen }: Call, activity: (cell: string) => Activity): ServerResponse {
  const path = seen.target.split('?')[0] ?? ''
  // No stream of events of its own.
  if (request.headers.host === MCP_HOST && request.method !== 'POST') return response.writeHead(405).end()
  if (request.headers.host === TOKEN_TABLES) return writeJson(response, TOKEN_TABLE)
  const isCodeHost = request.headers.host?.endsWith('github.com') === true
  if (request.method !== 'POST')
    return writeJson(response, { message: 'Not Found', data: [], models: [] }, isCodeHost ? 404 : 200)
  const body = JSON.parse(seen.body.toString() || '{}') as Json
  const created = (title: string) => {
    activity(title).issues += 1
  }
  if (request.headers.host?.startsWith(MCP_HOST)) return answerMcp(response, body, created)
  if (path.endsWith('/issues')) {
    created(String(body['title']))
    return writeJson(response, { id: 1, number: 4711, title: body['title'], html_url: 'https://x/4711' }, 201)
  }
  const format = FORMATS.find(([pattern]) => pattern.test(path))?.[1]
  if (format === undefined) return writeJson(response, { ok: true })
  const cell = /cell:([a-z0-9-]+)/.exec(seen.body.toString())?.[1] ?? 'none'
  const conversation = format.read(body, path.includes(':stream'))
  note(activity(cell), conversation)
  return format.write(response, scriptedReply(conversation, cell), conversation.isStream)
}

function note(activity: Activity, { tools, results, isStream }: Conversation): void {
  activity.modelCalls += 1
  if (isStream) activity.streamedModelCalls += 1
  for (const { name } of tools) activity.offered.add(name)
  activity.results.push(...results)
}

function textsIn(seen: Seen, texts: readonly string[]): readonly string[] {
  const whole = `${seen.target}\n${seen.rawHeaders.join('\n')}\n${seen.body.toString('latin1')}`
  return texts
    .filter((text) => whole.includes(text))
    .map((text) => `${seen.method} ${seen.header('host')} ${seen.target}: ${text}`)
}
