import { describe, expect, it } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'

/** Runs a command whose output fails with `error`, which no command expects. */
async function failing(error: unknown, env: NodeJS.ProcessEnv = {}) {
  const err: string[] = []
  const terminal = {
    print: () => {
      throw error
    },
    warn: (line: string) => void err.push(line),
    isInteractive: false,
  }
  const code = await runCli(['completion', 'bash'], { env, cwd: '/', terminal })
  return { code, err }
}

describe('an error that no command expects', () => {
  it('is one line that says what happened and what to do', async () => {
    expect(await failing(new Error('the first line\n  the second line.'))).toEqual({
      code: 1,
      err: [
        'chaperone: Unexpected error: the first line the second line. Check the installation: chaperone doctor. For the stack trace set CHAPERONE_DEBUG=1.',
      ],
    })
  })

  it('names each failed address when a host does not answer', async () => {
    const refused = (address: string) => new Error(`connect ECONNREFUSED ${address}`)
    const { err } = await failing(new AggregateError([refused('::1:5432'), refused('127.0.0.1:5432')]))
    expect(err.join('\n')).toContain(
      'Unexpected error: connect ECONNREFUSED ::1:5432, connect ECONNREFUSED 127.0.0.1:5432. Check',
    )
  })

  it('has its stack trace with CHAPERONE_DEBUG=1', async () => {
    const { err } = await failing(new Error('broken'), { CHAPERONE_DEBUG: '1' })
    expect(err.join('\n')).toMatch(/Unexpected error: broken\.[\s\S]*\n {4}at .*error-report\.test\.ts/)
  })
})

describe('--data before the command', () => {
  async function cli(...argv: readonly string[]) {
    const lines: string[] = []
    const print = (line: string) => void lines.push(line)
    const terminal = { print, warn: print, isInteractive: false }
    const code = await runCli(argv, { env: {}, cwd: '/', terminal })
    return { code, text: lines.join('\n') }
  }

  it.each([
    [['--data', '/nonexistent/chaperone', 'status']],
    [['--data=/nonexistent/chaperone', 'status']],
    [['--data', '/else', 'status', '--data', '/nonexistent/chaperone']],
  ])('selects the data folder: %j', async (argv) => {
    const behind = await cli('status', '--data', '/nonexistent/chaperone')
    expect(behind).toMatchObject({ code: 3, text: expect.stringContaining('/nonexistent/chaperone') })
    expect(await cli(...argv)).toEqual(behind)
  })

  it('leaves the other arguments of the command as they are', async () => {
    expect(await cli('--data', '/x', 'kill', 'on', 'agent:dev')).toMatchObject({
      code: 2,
      text: expect.stringContaining('agent:dev is not expected'),
    })
    expect(await cli('--data', '/x', 'help', 'kill')).toEqual(await cli('kill', '--help'))
  })

  it.each([
    [['--data']],
    [['--data=']],
    [['--data', '']],
    [['--data', '--json', 'status']],
    [['--data', '--help']],
  ])('needs a folder: %j', async (argv) => {
    expect(await cli(...argv)).toEqual({
      code: 2,
      text: 'chaperone: --data needs a value: --data DIR. See: chaperone --help',
    })
  })

  it('needs a command', async () => {
    expect(await cli('--data', 'status')).toEqual({
      code: 2,
      text: 'chaperone: Give a command after --data status. See: chaperone --help',
    })
  })
})
