import { expect, test } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'
import { createCatalogue } from '../../../core/connectors/catalogue.ts'
import { BUILT_IN } from '../../../core/connectors/registry.ts'

async function cli(...args: string[]) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
    isInteractive: false,
  }
  const code = await runCli(args, { env: {}, cwd: '/', terminal })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

test('the catalogue command finds an action by the words of its name and path', async () => {
  const { code, out } = await cli('catalogue', '--search', 'branch delete')
  expect(code).toBe(0)
  expect(out).toMatch(
    /^codehost\.branch\.delete +write +delete +high +DELETE +\/repos\/\{owner\}\/\{repo\}\/git\/refs\//m,
  )
})

test('the catalogue command finds actions by their effect class', async () => {
  const { out } = await cli('catalogue', '--connector', 'codehost', '--search', 'rewrite_history')
  const actions = new Set(
    out
      .split('\n')
      .slice(1)
      .map((line) => line.split(/ +/)[0]),
  )
  expect([...actions]).toEqual(expect.arrayContaining(['codehost.git.force_push', 'codehost.import.set_lfs']))
  for (const line of out.split('\n').slice(1)) expect(line).toContain('rewrite_history')
})

test('the catalogue command lists every row of every connector that is compiled in', async () => {
  const listed = JSON.parse((await cli('catalogue', '--json')).out) as { connector: string; type: string }[]
  const rows = BUILT_IN.flatMap(({ name, catalogue = [] }) => catalogue.map(({ type }) => `${name} ${type}`))
  expect(rows.length).toBeGreaterThan(500)
  expect(listed.map(({ connector, type }) => `${connector} ${type}`).toSorted()).toEqual(rows.toSorted())
  for (const { name, catalogue = [] } of BUILT_IN) expect(catalogue.length, name).toBeGreaterThan(0)
})

test('the catalogue command says which connector was meant', async () => {
  expect(await cli('catalogue', '--connector', 'codehots')).toMatchObject({
    code: 2,
    err: expect.stringContaining('Did you mean codehost?'),
  })
})

test('the catalogue command takes the provider for its connector type, and names both', async () => {
  expect(await cli('catalogue', '--connector', 'github')).toMatchObject({
    code: 2,
    err: expect.stringContaining('Did you mean codehost?'),
  })
  expect((await cli('catalogue', '--connector', 'zzzzzz')).err).toContain('GitHub (codehost), OpenAI (llm_a)')
  const found = await cli('catalogue', '--search', 'stripe refund')
  expect(found.out).toMatch(/^payments\.charge\.refund /m)
  expect(found.err).toMatch(/operations of Stripe \(payments\)$/)
})

test('an action under several operations counts as the worst of them', () => {
  const rows = [
    { type: 'x.thing.do', effect: 'read', risk: 'low', hints: { irreversible: true } },
    { type: 'x.thing.do', effect: 'write', risk: 'medium' },
    { type: 'x.thing.do', effect: 'compute', risk: 'high' },
  ] as const
  const [first] = BUILT_IN
  const catalogue = createCatalogue([{ ...first!, name: 'x', catalogue: rows }])
  expect(catalogue.knownAction('x.thing.do')).toEqual({
    connector: 'x',
    effect: 'write',
    risk: 'high',
    hints: { irreversible: true },
  })
  expect(catalogue.knownAction('x.other')).toBeNull()
})
