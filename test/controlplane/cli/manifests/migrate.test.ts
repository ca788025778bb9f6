import { chmod, lstat, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../../../../controlplane/cli/cli.ts'

let cwd: string
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'migrate-'))
})
afterEach(() => rm(cwd, { recursive: true }))

const GATEWAY = `# keep
apiVersion: chaperone.dev/v1alpha1
kind: Gateway
metadata: { name: main }
spec:
  topology: sidecar
  audit: sync
`
const WANTED = GATEWAY.replace('  topology: sidecar\n', '')
const UNDECIDED = GATEWAY.replace('topology: sidecar', 'killSwitch: { scopes: [gateway:other] }')

async function migrate(...args: string[]) {
  const [out, err]: [string[], string[]] = [[], []]
  const terminal = {
    print: (line: string) => void out.push(line),
    warn: (line: string) => void err.push(line),
    isInteractive: false,
  }
  const code = await runCli(['migrate', ...args], { env: {}, cwd, terminal })
  return { code, out: out.join('\n'), err: err.join('\n') }
}
const write = (name: string, text: string) => writeFile(join(cwd, name), text)
const read = (name: string) => readFile(join(cwd, name), 'utf8')

describe('migrate', () => {
  it('rewrites files in place, prints each change with its line, and has nothing to do after that', async () => {
    await write('a.yaml', GATEWAY)
    await chmod(join(cwd, 'a.yaml'), 0o640)
    const { code, out } = await migrate('a.yaml')
    expect([code, out]).toEqual([0, 'a.yaml:6: spec.topology was removed\n1 outdated field replaced.'])
    expect(await read('a.yaml')).toBe(WANTED)
    expect((await stat(join(cwd, 'a.yaml'))).mode & 0o777).toBe(0o640)
    expect(await migrate('a.yaml')).toEqual({ code: 0, out: 'No outdated fields.', err: '' })
  })

  it('rewrites the manifests of a folder, and the target of a symbolic link', async () => {
    await mkdir(join(cwd, 'team'))
    await write('team/a.yaml', GATEWAY)
    await write('team/notes.txt', GATEWAY)
    await write('elsewhere', GATEWAY)
    await symlink('../elsewhere', join(cwd, 'team/b.yaml'))
    expect(await migrate('team')).toMatchObject({ code: 0 })
    expect([await read('team/a.yaml'), await read('elsewhere')]).toEqual([WANTED, WANTED])
    expect((await lstat(join(cwd, 'team/b.yaml'))).isSymbolicLink()).toBe(true)
    expect(await read('team/notes.txt')).toBe(GATEWAY)
  })

  it('fails with --check when something would change, and changes nothing', async () => {
    await write('a.yaml', GATEWAY)
    expect(await migrate('a.yaml', '--check')).toMatchObject({
      code: 1,
      out: expect.stringContaining('1 outdated field would be replaced.'),
    })
    expect(await read('a.yaml')).toBe(GATEWAY)
    await write('b.yaml', WANTED)
    expect(await migrate('b.yaml', '--check')).toMatchObject({ code: 0 })
  })

  it('prints the manifests with --stdout, and writes nothing', async () => {
    await write('a.yaml', GATEWAY)
    const { code, out, err } = await migrate('a.yaml', '--stdout')
    expect([code, `${out}\n`]).toEqual([0, WANTED])
    expect(err).toContain('a.yaml:6: spec.topology was removed')
    expect(await read('a.yaml')).toBe(GATEWAY)
  })

  it('fails where a user has to decide, and rewrites the rest', async () => {
    await write('a.yaml', UNDECIDED)
    await write('b.yaml', GATEWAY)
    const { code, err } = await migrate('a.yaml', 'b.yaml')
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^error: a\.yaml:6: spec\.killSwitch\.scopes has an entry/),
    ])
    expect([await read('a.yaml'), await read('b.yaml')]).toEqual([UNDECIDED, WANTED])
  })

  it('prints one line of JSON', async () => {
    await write('a.yaml', GATEWAY)
    const { out } = await migrate('a.yaml', '--check', '--json')
    expect(JSON.parse(out)).toEqual({
      files: [{ name: 'a.yaml', changes: [{ line: 6, text: 'spec.topology was removed' }], problems: [] }],
    })
  })

  it('needs a file, and one way of writing', async () => {
    expect((await migrate()).code).toBe(2)
    await write('a.yaml', GATEWAY)
    expect((await migrate('a.yaml', '--check', '--stdout')).code).toBe(2)
    expect((await migrate('missing.yaml')).code).toBe(2)
  })
})
