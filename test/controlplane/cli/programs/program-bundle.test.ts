import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type BundledProgram, programBundle } from '../../../../controlplane/cli/programs/program-bundle.ts'

let root = ''
const warnings: string[] = []
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-bundle-'))
  mkdirSync(join(root, 'sidecar'))
  mkdirSync(join(root, 'core'))
  write('package-lock.json', '{}')
  write('sidecar/main.ts', "import { word } from '../core/word.ts'\nconsole.log(word)\n")
  write(
    'core/word.ts',
    "/** \u2026 */\nexport const word = /\u00b5/.test('\u00b5') ? 'first \u2026' : '' // \u2026\n",
  )
  warnings.length = 0
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

function write(path: string, text: string): void {
  writeFileSync(join(root, path), text)
}

async function bundle(program: BundledProgram = 'sidecar'): Promise<string> {
  const file = await programBundle(program, (line) => warnings.push(line), root)
  if (file === null) throw new Error(warnings.join('\n'))
  return file
}

/** Another one after each build. */
const manifestInode = () => statSync(join(root, 'node_modules/.cache/chaperone/gateway/made.json')).ino
const outputOf = (file: string) => execFileSync(process.execPath, [file], { encoding: 'utf8' }).trim()

describe('the bundle of a program', () => {
  test('behaves like the sources, in one ASCII file with their name', async () => {
    const file = await bundle()
    expect(outputOf(file)).toBe('first \u2026')
    expect(file).toMatch(/\/sidecar\/main\.cjs$/)
    expect(readFileSync(file, 'utf8')).not.toMatch(/[^\0-\x7f]/)
    expect(readFileSync(file, 'utf8')).not.toContain('// core/word.ts')
    expect(readFileSync(`${file}.map`, 'utf8')).toContain('core/word.ts')
  })

  test('is reused while the sources are unchanged, and rebuilt when one of them has changed', async () => {
    const first = await bundle()
    const built = manifestInode()
    expect(await bundle()).toBe(first)
    expect(manifestInode()).toBe(built)
    write('core/word.ts', "export const word: string = 'second'\n")
    const second = await bundle()
    expect(second).not.toBe(first)
    expect(outputOf(second)).toBe('second')
    // A process that runs the first bundle can be restarted from it.
    expect(outputOf(first)).toBe('first \u2026')
    expect(warnings).toEqual([])
  })

  test('can be built by several processes at the same time', async () => {
    const files = await Promise.all(Array.from({ length: 4 }, () => bundle()))
    expect(new Set(files).size).toBe(1)
    expect(outputOf(files[0] ?? '')).toBe('first \u2026')
  })

  test.each(['controlplane', 'operator'] as const)(
    'of %s reads files beside its sources',
    async (program) => {
      mkdirSync(join(root, program, 'store'), { recursive: true })
      write(`${program}/store/one.sql`, 'select 1')
      write(
        `${program}/store/read.ts`,
        "import { readFileSync } from 'node:fs'\nexport const text = readFileSync(import.meta.dirname + '/one.sql', 'utf8')\n",
      )
      write(`${program}/main.ts`, "import { text } from './store/read.ts'\nconsole.log(text)\n")
      const file = await bundle(program)
      expect(file).toMatch(new RegExp(`/${program}/main\\.cjs$`))
      expect(outputOf(file)).toBe('select 1')
      expect(warnings).toEqual([])
    },
  )

  test('is null, with a warning, when the sources cannot be bundled', async () => {
    write('core/word.ts', 'export const = 1\n')
    expect(await programBundle('sidecar', (line) => warnings.push(line), root)).toBeNull()
    expect(warnings).toEqual([expect.stringMatching(/runs from its sources.*Build failed/s)])
  })
})
