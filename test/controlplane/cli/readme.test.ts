import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'
import { parseManifests } from '../../../operator/folder/manifests.ts'

const root = new URL('../../../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')
const project = JSON.parse(readFileSync(new URL('package.json', root), 'utf8')) as {
  readonly scripts: Record<string, string>
  readonly dependencies: Record<string, string>
  readonly optionalDependencies: Record<string, string>
}

/** First cells of the table below a heading, without backticks. */
function firstCells(heading: string): string[] {
  const section = readme.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  return [...section.matchAll(/^\| (`.*?)(?<!\\\\) \|/gm)].map(([, cell = '']) => cell)
}

const quoted = (cells: readonly string[]) =>
  cells.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word))

async function overview(): Promise<string> {
  const lines: string[] = []
  const terminal = {
    print: (line: string) => void lines.push(line),
    warn: () => undefined,
    isInteractive: false,
  }
  await runCli(['--help'], { env: {}, cwd: '/', terminal })
  return lines.join('\n')
}

test('the README lists exactly the existing commands', async () => {
  const named = new Set(quoted(firstCells('Command line')).map((text) => text.split(/[ |]/)[0]))
  const real = [...(await overview()).matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name)
  expect([...named].sort()).toEqual(real.filter((name) => name !== 'chaperone').sort())
})

test('the README gives a reason for exactly the existing dependencies', () => {
  // Optional ones are of one scope, of which each machine installs the package for its platform.
  const optional = new Set(
    Object.keys(project.optionalDependencies).map((name) => name.replace(/\/.*/, '/*')),
  )
  expect(quoted(firstCells('Dependencies, and why each')).sort()).toEqual(
    [...Object.keys(project.dependencies), ...optional].sort(),
  )
})

test('the first command behind npm start in the README runs an agent program governed', () => {
  const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block.trim().split('\n'),
  )
  const [first] = commands.slice(commands.indexOf('npm start') + 1)
  expect(first).toBe('./scripts/chaperone.sh run -- claude')
})

test('every npm script that the README names exists', () => {
  for (const [, name = ''] of readme.matchAll(/npm run ([a-z:]+)/g))
    expect(Object.keys(project.scripts)).toContain(name)
})

test('the manifests in the README are valid and take the place of a starter file of the same name', () => {
  const yaml = /```yaml\n([\s\S]*?)```/.exec(readme)?.[1] ?? ''
  const { objects, problems } = parseManifests('10-codehost.yaml', yaml)
  expect(problems).toEqual([])
  const starter = readFileSync(new URL('controlplane/cli/up/starter/10-codehost.yaml', root), 'utf8')
  const keys = parseManifests('10-codehost.yaml', starter).objects.map(({ key }) => key)
  expect(objects.map(({ key }) => key)).toEqual(expect.arrayContaining(keys))
})
