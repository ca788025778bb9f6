import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { runCli } from '../../controlplane/cli/cli.ts'
import { checkManifest } from '../../controlplane/cli/manifests/manifest-files.ts'
import { permissionWarnings } from '../../core/decision/permissions/permission-warnings.ts'

const page = readFileSync(join(import.meta.dirname, '../../docs/policy-cookbook.md'), 'utf8')
const recipes = page.split(/^#{2,3} /m).flatMap((section) => {
  const blocks = [...section.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text)
  return blocks.map((text) => [section.split('\n')[0] ?? '', text] as const)
})

const folder = mkdtempSync(join(tmpdir(), 'chaperone-cookbook-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function policyTest(text: string): Promise<{ code: number; lines: readonly string[] }> {
  const file = join(folder, 'recipe.yaml')
  writeFileSync(file, text)
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const code = await runCli(
    ['policy', 'test', file, '--strict', '--groups', 'finance,release-managers,security'],
    { env: {}, cwd: folder, terminal: { print, warn: print, isInteractive: false } },
  )
  return { code, lines }
}

test('the cookbook has at least 20 recipes', () => {
  expect(recipes.length).toBeGreaterThanOrEqual(20)
})

describe.each(recipes)('%s', (_title, text) => {
  const { resources, problems } = checkManifest({ path: 'recipe.yaml', text })
  const policies = resources.flatMap((each) => (each.kind === 'Policy' ? [each.spec] : []))

  test('the manifest is valid, and its Permissions name existing actions', () => {
    expect(problems).toEqual([])
    const rules = resources.flatMap((each) => (each.kind === 'Permission' ? each.spec.rules : []))
    const declared = resources.flatMap((each) =>
      each.kind === 'Connector' ? each.spec.actions.map(({ action }) => action) : [],
    )
    expect(rules.flatMap((rule) => permissionWarnings(rule, declared, rules))).toEqual([])
  })

  test('the tests cover each rule and an action that no rule matches', () => {
    expect(policies.length).toBeGreaterThan(0)
    for (const { rules, tests } of policies) {
      expect(
        rules.map(({ name }) => name).filter((name) => !tests.some(({ expect: e }) => e.rule === name)),
      ).toEqual([])
      expect(tests.map(({ expect: { outcome } }) => outcome)).toContain('no_opinion')
    }
  })

  test('policy test --strict passes', async () => {
    const { code, lines } = await policyTest(text)
    expect(code, lines.join('\n')).toBe(0)
  })
})
