import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type GoldenCase, readCorpus, USUAL_HOST } from '../core/connectors/golden.ts'
import type { ActionText, RulesText } from '../core/decision/fixtures.ts'
import { portAgent } from '../support/agent.ts'
import { type AgentLine, connectLine } from '../support/agent-line.ts'
import { eventually } from '../support/eventually.ts'
import { type Everything, resource, startEverything } from '../support/every-connector.ts'
import { newestRecords } from '../support/gateway-records.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'

type Wanted = {
  readonly verdict?: string
  readonly would?: string
  readonly reason?: string
  readonly reasonContains?: string
}
type Case = {
  readonly name: string
  readonly action: ActionText
  readonly agent?: { readonly name?: string; readonly status?: string }
  readonly want: Wanted
}
type Corpus = { readonly rules: RulesText; readonly cases: readonly Case[] }

const FOLDER = new URL('../golden/decisions/', import.meta.url)
const FILES = ['level-full-enforce', 'level-enforce-high-risk', 'level-monitor', 'proxy'] as const
const REQUESTS: readonly GoldenCase[] = readCorpus().flatMap(({ cases }) => cases)
const AGENTS = ['bot', 'merge-bot'] as const
const LOGGED: Readonly<Record<string, string>> = { allow: 'ALLOW', deny: 'DENY', hold: 'HOLD' }

function read(file: string): Corpus {
  return JSON.parse(readFileSync(new URL(`${file}.json`, FOLDER), 'utf8')) as Corpus
}

/** A request that is this action at this risk; null where the case is about an action that no request makes. */
function requestOf({ type, risk, hints, parameters, environment }: ActionText): GoldenCase | null {
  if ([hints, parameters, environment].some((given) => given !== undefined)) return null
  const fits = (golden: GoldenCase) =>
    golden.expect.action === type && (risk === undefined || golden.expect.risk === risk)
  return REQUESTS.find(fits) ?? null
}

function liveCases({ cases }: Corpus): ReadonlyArray<readonly [Case, GoldenCase]> {
  return cases.flatMap((one) => {
    const golden = one.agent?.status === undefined ? requestOf(one.action) : null
    return golden === null ? [] : [[one, golden] as const]
  })
}

function manifestsOf({ level, permissions, policies }: RulesText): { gatewaySpec: string; extra: string } {
  const documents = (permissions ?? []).map((row, at) => {
    const agents = row.agent === undefined ? '' : `  agents: ['${row.agent}']\n`
    const reason = typeof row.reason === 'string' ? `, reason: '${row.reason}'` : ''
    const rule = `{ connectorType: ${row.connector_type}, actionPattern: '${row.action_pattern}', decision: ${row.decision}${reason} }`
    return resource(
      'Permission',
      `corpus-${at}`,
      `  gatewayRefs: [{ name: local }]\n${agents}  rules:\n    - ${rule}`,
    )
  })
  for (const { id, name = id, priority = 100, yaml } of policies) {
    // The corpus has policy documents; a manifest has the spelling of custom resources.
    const text = yaml.trimEnd().replaceAll('\n', '\n  ').replaceAll('approver_groups', 'approverGroups')
    documents.push(resource('Policy', name, `  priority: ${priority}\n  ${text}`))
  }
  return {
    gatewaySpec: `  enforcementLevel: ${level}\n  rateLimit: { requestsPerMinute: 1000000 }`,
    extra: documents.join('\n---\n'),
  }
}

/** Ids are the installation's own. */
/** Manifests have names of their own here, before which the corpus names the rule alone. */
function withoutIds(text: string): string {
  return text
    .replace(/\((?:perm|pol)_[^)]*\)/g, '(id)')
    .replace(/Permission "corpus-\d+", rule ("[^"]+"),/, 'Permission $1')
}

let folder: string
let laptop: Laptop | undefined

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-corpora-'))
})
afterAll(async () => {
  await laptop?.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** One installation for all corpora: the rules of one are replaced by those of the next, as its owner would. */
async function underRules(manifests: string): Promise<Laptop> {
  if (laptop === undefined) {
    laptop = await startLaptop({
      database: 'worker',
      manifests: { 'corpus.yaml': manifests },
      env: { WHOLE_REFUSALS_PER_MINUTE: '100000' },
    })
    return laptop
  }
  const file = join(folder, 'corpus.yaml')
  writeFileSync(file, manifests)
  const { code, stdout, stderr } = await laptop.cli(['apply', '-f', file])
  expect(code, stdout + stderr).toBe(0)
  return laptop
}

describe.each(FILES)('%s', (file) => {
  const corpus = read(file)
  const cases = liveCases(corpus)
  let everything: Everything
  let here: Laptop
  const lines = new Map<string, AgentLine>()

  beforeAll(async () => {
    everything = await startEverything({ ...manifestsOf(corpus.rules), rules: {} })
    here = await underRules(everything.manifests)
    for (const name of AGENTS) lines.set(name, connectLine((await portAgent(here, name)).target))
  })
  afterAll(async () => {
    for (const line of lines.values()) line.close()
    await everything?.recorder.close()
  })

  test('most cases can be expressed as a request', () => {
    expect(cases.length).toBeGreaterThanOrEqual(6)
  })

  test.each(cases)('$name: the live verdict is the corpus', async ({ agent, want }, golden) => {
    const from = everything.recorder.seen.length
    const { request, connector } = golden
    const line = lines.get(agent?.name ?? 'bot')
    const answered = line?.send({ ...request, host: request.host ?? USUAL_HOST[connector] })
    const held = want.verdict === 'hold' ? await answerHold() : null
    const answer = await answered
    expect(answer?.status).toBe(want.verdict === 'allow' ? 200 : 403)
    expect(held === null).toBe(want.verdict !== 'hold')
    expect(everything.recorder.seen.length - from).toBe(want.verdict === 'allow' ? 1 : 0)
    const [record] = await eventually('its record', async () => {
      const newest = await newestRecords(here, 1)
      return newest[0]?.method === request.method ? newest : null
    })
    expect(record?.decision).toBe(want.verdict === 'allow' ? 'ALLOW' : 'DENY')
    const would = want.would ?? want.verdict
    if (want.verdict !== 'hold')
      expect(record?.would).toBe(would === want.verdict ? null : LOGGED[would ?? ''])
    const body = answer?.body.toString() ?? ''
    if (want.verdict === 'deny' && want.reason !== undefined) {
      expect(withoutIds(String(JSON.parse(body)['reason']))).toBe(
        withoutIds(want.reason.replace('Policy "', 'Policy "default/')),
      )
    }
    if (want.reasonContains !== undefined) expect(record?.reason).toContain(want.reasonContains)
  })

  async function answerHold(): Promise<string> {
    const id = await eventually('a card', async () => {
      const { body } = await here.api('GET', '/api/dashboard/proxy-approvals?status=pending')
      const [card] = body['approvals'] as Record<string, unknown>[]
      return card === undefined ? null : String(card['id'])
    })
    await here.api('POST', '/api/dashboard/proxy-approvals', { id, approved: false })
    return id
  }
})
