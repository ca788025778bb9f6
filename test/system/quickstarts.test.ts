import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { runCli } from '../../controlplane/cli/cli.ts'
import { COMMANDS } from '../../controlplane/cli/commands.ts'
import { checkManifest } from '../../controlplane/cli/manifests/manifest-files.ts'
import { STARTER_DIR } from '../../controlplane/cli/up/starter-manifests.ts'
import { quickstartCommands, readmeCommands } from '../agents/walk/documents.ts'
import { unattended } from '../agents/walk/unattended.ts'
import { hasCommand } from '../support/has-command.ts'
import { startLaptop } from '../support/laptop.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'docs/quickstarts.md'), 'utf8')
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(
    ([, text = '']) => text,
  )
const [cronJob = '', manifests = '', workflow = ''] = blocks('yaml')

const folder = mkdtempSync(join(tmpdir(), 'chaperone-quickstarts-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Workflow = {
  readonly jobs: { readonly agent: { readonly steps: ReadonlyArray<{ readonly run?: string }> } }
}
const runs = (parse(workflow) as Workflow).jobs.agent.steps.map(({ run = '' }) => run)
const commands = [...blocks('sh'), ...runs]
  .flatMap((text) => text.split('\n'))
  .flatMap((line) => /(?:^|\s)chaperone (?<rest>[a-z][^#;<>&]*)/.exec(line)?.groups?.['rest'] ?? [])
  .map((rest) => rest.trim())

async function cli(args: readonly string[]): Promise<{ code: number; text: string }> {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const code = await runCli(args, {
    env: {},
    cwd: folder,
    terminal: { print, warn: print, isInteractive: false },
  })
  return { code, text: lines.join('\n') }
}

test('the page has commands for each quickstart', () => {
  expect(commands.length).toBeGreaterThan(15)
})

test.each(commands)('chaperone %s is a command with these options', async (rest) => {
  const [name = '', ...words] = (rest.split(' -- ')[0] ?? '').split(/\s+/)
  const command = await COMMANDS.get(name)?.()
  expect(command, name).toBeDefined()
  const usage = `${command?.usage.join('\n')} ${JSON.stringify(command?.options)}`
  for (const word of words.filter((each) => each.startsWith('-')))
    expect(`${usage} --json -h --data`).toContain(
      word.startsWith('--') ? word.slice(2) : `"short":"${word.slice(1)}"`,
    )
  const file = words[words.indexOf('-f') + 1]
  if (file?.startsWith('starters/'))
    expect(checkManifest({ path: file, text: readFileSync(join(ROOT, file), 'utf8') }).problems).toEqual([])
})

// `test/agents/walk.suite.ts` runs these commands with the agent programs.
test('the commands of the README and of the agent programs run without a terminal', () => {
  const walk = [...readmeCommands(ROOT), ...quickstartCommands(ROOT)]
  expect(walk.slice(0, 3)).toEqual([
    'npm start',
    './scripts/chaperone.sh credential set llm-b',
    './scripts/chaperone.sh run -- claude',
  ])
  const agents = walk.filter((command) => / run /.test(command)).map((command) => unattended(command).command)
  expect(agents).toEqual([
    expect.stringMatching(/ run -- claude -p /),
    expect.stringMatching(/ run -- claude -p /),
    expect.stringMatching(/ run -- codex exec /),
    'chaperone run --agent graph -- python graph.py',
  ])
  for (const command of walk) expect(unattended(command).command).not.toMatch(/ -f$| watch$/)
})

test('the manifests of the MCP server are valid', () => {
  const { resources, problems } = checkManifest({ path: 'docs.yaml', text: manifests })
  expect(problems).toEqual([])
  expect(resources.map(({ kind }) => kind)).toEqual(['Connector', 'Permission'])
})

test('the injector governs the pod of the CronJob', async () => {
  writeFileSync(join(folder, 'cronjob.yaml'), cronJob)
  const { code, text } = await cli(['inject', '-f', 'cronjob.yaml', '--gateway', 'agents/default'])
  expect(code, text).toBe(0)
  const [pod] = parseAllDocuments(text).map(
    (document) => document.toJS() as { spec: { initContainers?: { name: string }[] } },
  )
  expect(pod?.spec.initContainers?.length).toBeGreaterThan(0)
})

test.runIf(hasCommand('python3'))('the Python script prints the refusal under the starter set', async () => {
  const starter = readdirSync(STARTER_DIR).map((file) => [
    file,
    readFileSync(join(STARTER_DIR, file), 'utf8'),
  ])
  const laptop = await startLaptop({ database: 'worker', manifests: Object.fromEntries(starter) })
  try {
    const script = join(folder, 'script.py')
    writeFileSync(script, blocks('python')[0] ?? '')
    const PATH = process.env['PATH'] ?? ''
    const ran = await laptop.cli(['run', '--', 'python3', script], { env: { PATH } })
    expect(ran.stdout, ran.stderr).toBe('403 codehost.repo.delete\n')
  } finally {
    await laptop.stop()
  }
})
