import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'
import { COMMANDS } from '../../../controlplane/cli/commands.ts'

async function script(...args: readonly string[]) {
  const out: string[] = []
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void out.push(line),
    isInteractive: false,
  }
  const code = await runCli(['completion', ...args], { env: {}, cwd: '/', terminal })
  return { code, text: out.join('\n') }
}

/** What bash offers for the last of the words. */
async function completed(...words: readonly string[]): Promise<readonly string[]> {
  const { text } = await script('bash')
  const call = `${text}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _chaperone; printf '%s\\n' "\${COMPREPLY[@]}"`
  const out = execFileSync('bash', ['-c', call, 'bash', ...words], { encoding: 'utf8' })
  return out.split('\n').filter((line) => line !== '')
}

describe('chaperone completion', () => {
  test('completes every command', async () => {
    expect((await completed('chaperone', '')).toSorted()).toEqual([...COMMANDS.keys()].toSorted())
    expect(await completed('chaperone', 'cred')).toEqual(['credential'])
  })

  test('completes the first argument of a command, and its options', async () => {
    expect(await completed('chaperone', 'agent', 'r')).toEqual(['revoke', 'rotate'])
    expect(await completed('chaperone', 'completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(await completed('chaperone', 'apply', '--d')).toEqual(['--dry-run', '--data'])
    expect(await completed('chaperone', 'agent', 'create', 're')).toEqual([])
  })

  test.each([[['--data', '/x']], [['--data', '=', '/x']]])('skips %j before the command', async (data) => {
    expect(await completed('chaperone', ...data, 'cred')).toEqual(['credential'])
    expect(await completed('chaperone', ...data, 'agent', 'r')).toEqual(['revoke', 'rotate'])
    expect(await completed('chaperone', ...data, 'apply', '--dr')).toEqual(['--dry-run'])
    expect(await completed('chaperone', ...data, 'agent', 'create', 're')).toEqual([])
    expect(await completed('chaperone', ...data, 'run', '--', '--d')).toEqual([])
  })

  test('leaves the folder of --data to the shell', async () => {
    expect(await completed('chaperone', '--da')).toEqual(['--data'])
    expect(await completed('chaperone', '--data', 'ag')).toEqual([])
    expect(await completed('chaperone', '--data', '=', 'ag')).toEqual([])
  })

  test('leaves the command behind -- to the shell', async () => {
    expect(await completed('chaperone', 'run', '--', '--d')).toEqual([])
  })

  test.each(['bash', 'zsh', 'fish'])('prints every command and its options for %s', async (shell) => {
    const { code, text } = await script(shell)
    expect(code).toBe(0)
    for (const [name, load] of COMMANDS) {
      expect(text).toContain(name)
      for (const option of Object.keys((await load()).options)) expect(text).toContain(option)
    }
  })

  test.each([
    [[], 'Give the shell: bash, zsh, fish.'],
    [['tcsh'], 'tcsh is not one of bash, zsh, fish.'],
    [['toString'], 'toString is not one of'],
  ])('refuses %j', async (args, problem) => {
    expect(await script(...args)).toMatchObject({ code: 2, text: expect.stringContaining(problem) })
  })
})
