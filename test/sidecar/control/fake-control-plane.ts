import { createHash, createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { SECTION_NAMES, sectionText } from '../../../core/snapshot/sections.ts'
import { CertificateBody } from '../../../core/wire/gateway/certificate.ts'
import { CommandBody, type CommandReply } from '../../../core/wire/gateway/commands.ts'
import { HoldBody, LeaveBody, SpendBody } from '../../../core/wire/gateway/hold.ts'
import type { ApprovalCard, ApprovalStatus } from '../../../core/wire/gateway/internal.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { RecordsBody } from '../../../core/wire/gateway/records.ts'
import { AckBody, type DownMessage, StatusBody, SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { beatMacText, sectionIndexMacText } from '../../../core/wire/gateway/sync-mac.ts'

export const TOKEN = 'test-enrolment-token'
const GATEWAY_NAME = 'default/local'

type Hold = { readonly id: string; readonly body: HoldBody; status: ApprovalStatus; isSpent: boolean }
type Records = RecordsBody

export type FakeOptions = {
  readonly port?: number
  readonly token?: string
  readonly holdLifeMs?: number
  /** PEM; without it the server speaks plain HTTP. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** A control plane that speaks `core/wire/sync` over real HTTP and records all messages. */
export class FakeControlPlane implements AsyncDisposable {
  readonly #server: ReturnType<typeof createServer> | ReturnType<typeof createTlsServer>
  readonly #streams = new Set<ServerResponse>()
  #options: FakeOptions
  readonly acks: AckBody[] = []
  readonly statuses: StatusBody[] = []
  readonly records: Records['records'] = []
  readonly lost: Records['lost'] = []
  readonly commands: CommandBody[] = []
  readonly holds = new Map<string, Hold>()
  readonly paths: string[] = []
  /** When the request of each of `paths` arrived, in milliseconds of `performance.now()`. */
  readonly times: number[] = []
  sections: Record<string, unknown> = {}
  version = 0
  killSeq = 0
  effective: KillEntry[] = []
  holdPosts = 0
  spends = 0
  /** Calls with another binding, which return the state and spend nothing. */
  reads = 0
  /** Called before such a call is answered. */
  beforeRead: () => void = () => undefined
  /** Approvals that nobody waits for any more, as reported. */
  readonly leaves: Array<{ readonly id: string; readonly binding: string; readonly asker: string }> = []
  /** Of every hold that was asked for. */
  readonly askers: string[] = []
  /** Answers to reports of leaving before one is taken. */
  leaveFailures = 0
  /** What a command is answered. */
  reply: (command: CommandBody) => CommandReply = () => ({ status: 200, body: { ok: true } })
  /** Set to answer this status to record batches. */
  recordsStatus = 200
  /** Stores record batches, and closes the connection instead of answering. */
  isRecordsAnswerLost = false
  /** Joins the body of another status. */
  recordsReply: object = {}
  /** Record ids that make a whole batch invalid. */
  poison = new Set<string>()
  /** Processes and agents of another owner, and single records that are refused. */
  foreign = { process_ids: new Set<string>(), agents: new Set<string>(), record_ids: new Set<string>() }
  /** Answers a section with other bytes than announced. */
  corrupt: string | null = null
  /** Opens approvals that nobody waits for at the gateway, as for executions. */
  isDeferring = false
  /** Answers 404 to every section. */
  losesSections = false
  /** Called before a section is answered: may take its time. */
  beforeSection: (name: string) => Promise<void> = async () => undefined
  isBeating = true
  /** Signs the key of a sidecar: PKCS#10 in, chain out. Null = it does not. */
  sign: ((request: string) => string) | null = null

  private constructor(options: FakeOptions) {
    this.#options = options
    const serve: RequestListener = (request, response) => void this.#serve(request, response)
    this.#server = options.tls === undefined ? createServer(serve) : createTlsServer(options.tls, serve)
  }

  static async start(options: FakeOptions = {}): Promise<FakeControlPlane> {
    const fake = new FakeControlPlane(options)
    fake.#server.listen(options.port ?? 0, '127.0.0.1')
    await once(fake.#server, 'listening')
    fake.configure({})
    return fake
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http${this.#options.tls === undefined ? '' : 's'}://127.0.0.1:${this.port}`
  }

  get streams(): number {
    return this.#streams.size
  }

  /** Replaces sections (the others stay) and announces the new version. */
  configure(sections: Record<string, unknown>, { isAnnounced = true } = {}): void {
    this.sections = { ...emptySections(), ...this.sections, ...sections }
    this.version++
    if (isAnnounced) this.announce()
  }

  announce(): void {
    this.send(this.sectionIndex())
  }

  sectionIndex(): Extract<DownMessage, { type: 'sections' }> {
    const hashes = Object.fromEntries(
      Object.entries(this.sections).map(([name, content]) => [name, sha256(sectionText(content))]),
    )
    const mac = this.#mac(sectionIndexMacText(this.version, hashes))
    return { type: 'sections', version: this.version, sections: hashes, mac }
  }

  beat(until = new Date(Date.now() + 30_000).toISOString()): void {
    const mac = this.#mac(beatMacText(this.version, until))
    this.send({ type: 'beat', version: this.version, until, mac })
  }

  kill(effective: KillEntry[]): number {
    this.effective = effective
    this.killSeq++
    this.send({ type: 'kill', seq: this.killSeq, effective })
    return this.killSeq
  }

  /** A person answers. */
  respond(id: string, status: ApprovalStatus, announce = true): void {
    const hold = this.holds.get(id)
    if (hold === undefined) throw new Error(`no hold ${id}`)
    hold.status = status
    const at = new Date().toISOString()
    const verdict = { id, status, by: 'ada@example.com', via: 'dashboard', at, note: 'because' }
    if (announce) this.send({ type: 'verdict', verdict })
  }

  pendingHolds(): Hold[] {
    return [...this.holds.values()].filter((hold) => hold.status === 'pending')
  }

  send(message: DownMessage): void {
    this.raw(`${JSON.stringify(message)}\n`)
  }

  raw(text: string): void {
    for (const stream of this.#streams) stream.write(text)
  }

  /** From now on only this token is accepted, and what is sent is signed with it. */
  renewToken(token: string): void {
    this.#options = { ...this.#options, token }
  }

  dropStreams(): void {
    for (const stream of this.#streams) stream.destroy()
  }

  async stop(): Promise<void> {
    this.dropStreams()
    this.#server.closeAllConnections()
    if (this.#server.listening) await new Promise((done) => this.#server.close(done))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #mac(text: string): string {
    const key = createHash('sha256')
      .update(`sync:${this.#options.token ?? TOKEN}`)
      .digest()
    return createHmac('sha256', key).update(text).digest('hex')
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    response.on('error', () => undefined)
    const path = (request.url ?? '').split('?')[0] ?? ''
    this.paths.push(path)
    this.times.push(performance.now())
    if (request.headers.authorization !== `Bearer ${this.#options.token ?? TOKEN}`) {
      return reply(response, 401, { error: 'Unauthorized' })
    }
    if (path === SYNC_PATHS.stream) return this.#stream(response)
    const body = await bodyOf(request)
    if (path.startsWith(SYNC_PATHS.sections))
      return this.#section(new URL(request.url ?? '', 'http://x'), response)
    if (path === SYNC_PATHS.ack) this.acks.push(AckBody.parse(body))
    else if (path === SYNC_PATHS.status) this.statuses.push(StatusBody.parse(body))
    else if (path === SYNC_PATHS.certificate) return this.#certificate(body, response)
    else if (path === SYNC_PATHS.records) return this.#records(body, response)
    else if (path === SYNC_PATHS.holds) return this.#hold(HoldBody.parse(body), response)
    else if (path.endsWith('/leave')) return this.#leave(path.split('/').at(-2) ?? '', body, response)
    else if (path.startsWith(SYNC_PATHS.holds))
      return this.#spend(path.split('/').at(-2) ?? '', body, response)
    else if (path === SYNC_PATHS.commands) {
      const command = CommandBody.parse(body)
      this.commands.push(command)
      return reply(response, 200, this.reply(command))
    }
    return reply(response, 200, { ok: true })
  }

  #certificate(body: unknown, response: ServerResponse): unknown {
    if (this.sign === null) return reply(response, 404, { error: 'Not found' })
    const { request } = CertificateBody.parse(body)
    const not_after = new Date(Date.now() + 86_400_000).toISOString()
    return reply(response, 200, { chain: this.sign(request), not_after })
  }

  #stream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'application/x-ndjson' })
    this.#streams.add(response)
    const heartbeats = setInterval(() => {
      if (this.isBeating) this.beat()
    }, 200)
    response.on('close', () => {
      clearInterval(heartbeats)
      this.#streams.delete(response)
    })
    const at = new Date().toISOString()
    const gateway = { id: 'gw_1', name: GATEWAY_NAME }
    const lines: DownMessage[] = [
      { type: 'hello', protocol: 1, gateway, lease_ms: 30_000, at },
      { type: 'kill', seq: this.killSeq, effective: this.effective },
      this.sectionIndex(),
    ]
    response.write(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  }

  async #section({ pathname, searchParams }: URL, response: ServerResponse): Promise<void> {
    const name = pathname.split('/').pop() ?? ''
    await this.beforeSection(name)
    const text = sectionText(this.sections[name])
    // Only the newest version is kept.
    if (this.losesSections || searchParams.get('hash') !== sha256(text)) {
      reply(response, 404, { error: 'Not found' })
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(name === this.corrupt ? `${text} ` : text)
  }

  #records(body: unknown, response: ServerResponse): unknown {
    const batch = RecordsBody.parse(body)
    if (this.recordsStatus !== 200)
      return reply(response, this.recordsStatus, { error: 'away', ...this.recordsReply })
    if (batch.records.some((record) => this.poison.has(record.id))) {
      return reply(response, 400, { error: 'Validation failed' })
    }
    const refused = this.#refused(batch)
    if (refused !== null) return reply(response, 403, { error: 'Forbidden', message: 'not yours', refused })
    this.records.push(...batch.records)
    this.lost.push(...batch.lost)
    if (this.isRecordsAnswerLost) return response.destroy()
    return reply(response, 200, { accepted: batch.records.map((record) => record.id) })
  }

  #refused({ records, lost }: Records): object | null {
    const agents = records.flatMap(({ agent }) => (this.foreign.agents.has(agent ?? '') ? [agent] : []))
    if (agents.length > 0) return { agents }
    const record_ids = records.map(({ id }) => id).filter((id) => this.foreign.record_ids.has(id))
    if (record_ids.length > 0) return { record_ids }
    const stated = [...records, ...lost.filter(({ reason }) => reason === undefined)]
    const processes = stated.map(({ process_id }) => process_id)
    const process_ids = processes.filter((id) => this.foreign.process_ids.has(id))
    return process_ids.length === 0 ? null : { process_ids }
  }

  #hold(body: HoldBody, response: ServerResponse): unknown {
    this.holdPosts++
    this.askers.push(body.asker ?? '')
    const same = [...this.holds.values()].filter((hold) => hold.body.binding === body.binding)
    const pending = same.find((hold) => hold.status === 'pending')
    const unspent = same.find((hold) => hold.status === 'approved' && !hold.isSpent)
    if (pending !== undefined)
      return reply(response, 200, { outcome: 'joined', approval: this.#card(pending) })
    if (unspent !== undefined)
      return reply(response, 200, { outcome: 'approved', approval: this.#card(unspent) })
    if (this.pendingHolds().length >= 20) return reply(response, 429, { error: 'too many', retry_after: 7 })
    const hold: Hold = { id: `apv_${randomUUID()}`, body, status: 'pending', isSpent: false }
    this.holds.set(hold.id, hold)
    const outcome = this.isDeferring ? 'deferred' : 'created'
    return reply(response, 200, { outcome, approval: this.#card(hold) })
  }

  #spend(id: string, body: unknown, response: ServerResponse): unknown {
    const { binding } = SpendBody.parse(body)
    const hold = this.holds.get(id)
    const isBound = hold === undefined || hold.body.binding === binding
    if (isBound) this.spends++
    else {
      this.reads++
      this.beforeRead()
    }
    if (hold === undefined) return reply(response, 404, { error: 'Not found' })
    const spent = isBound && hold.status === 'approved' && !hold.isSpent
    if (spent) hold.isSpent = true
    return reply(response, 200, { spent, status: hold.status })
  }

  #leave(id: string, body: unknown, response: ServerResponse): unknown {
    if (this.leaveFailures-- > 0) return reply(response, 503, { error: 'unavailable' })
    this.leaves.push({ id, ...LeaveBody.parse(body) })
    return reply(response, 200, { ok: true })
  }

  #card({ id, body, status }: Hold): ApprovalCard {
    const { agent, action_type, target, method, host, path, parameters, risk_score, risk_factors } = body
    const now = Date.now()
    return {
      ...{ id, kind: 'hold', status, agent, action_type, target, method, host, path, parameters },
      ...{ risk_score, risk_factors, matched_rule: null, required_approver_groups: [] },
      ...{ required_groups: [], answered_groups: [], answers: [] },
      ...{ requested_by_agent_text: null, body_sha256: body.body_sha256 },
      ...{ headers: body.headers, unread_body: body.unread_body },
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + (this.#options.holdLifeMs ?? 300_000)).toISOString(),
      responded_by: status === 'approved' ? 'ada@example.com' : null,
      note: null,
    }
  }
}

export function emptySections(): Record<string, unknown> {
  const lists = Object.fromEntries(SECTION_NAMES.map((name) => [name, []]))
  return {
    ...lists,
    gateway: {
      id: 'gw_1',
      name: GATEWAY_NAME,
      enforcementLevel: 'full_enforce',
      defaultDecision: 'deny',
      egress: { unmatchedHosts: 'deny', allowedHosts: [], tcp: [] },
      rateLimit: { requestsPerMinute: 1_000 },
      approvals: { timeoutSeconds: 300, maxPendingPerAgent: 20 },
      failurePolicy: { highRiskAfterSeconds: 30, writesAfterSeconds: 120, everythingAfterSeconds: 600 },
      audit: 'async',
    },
  }
}

export function agentEntry(name: string, key: string | null = null) {
  const key_sha256 = key === null ? null : sha256(key)
  return {
    id: `agent_${name}`,
    name,
    runtime: 'node',
    environment: 'development',
    status: 'active',
    key_sha256,
  }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  return text === '' ? null : JSON.parse(text)
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
