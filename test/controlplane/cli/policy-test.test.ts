import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { runCli } from '../../../controlplane/cli/cli.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'chaperone-cli-'))
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

async function cli(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    print: (line: string) => out.push(line),
    warn: (line: string) => err.push(line),
    isInteractive: false,
  }
  const code = await runCli(args, {
    env,
    cwd: root,
    terminal: { ...terminal, print: (l) => void out.push(l), warn: (l) => void err.push(l) },
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

describe('policy test', () => {
  const document = (expected: string) => `scope: { actions: ["codehost.*"] }
rules:
  - { name: no-deletes, conditions: ['action.type == "codehost.repo.delete"'], decision: deny }
tests:
  - name: deleting is denied
    action: { type: codehost.repo.delete, resource: { provider: codehost } }
    expect: { outcome: ${expected} }
`

  it('passes and fails by the exit code, on a bare document', async () => {
    writeFileSync(join(root, 'good.yaml'), document('deny'))
    writeFileSync(join(root, 'bad.yaml'), document('allow'))
    expect(await cli(['policy', 'test', 'good.yaml'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 passed, 0 failed'),
    })
    expect(await cli(['policy', 'test', 'bad.yaml'])).toMatchObject({
      code: 1,
      out: expect.stringContaining('FAIL  bad.yaml: deleting is denied'),
    })
  })

  it('warns of unknown action names, and fails on them with --strict', async () => {
    writeFileSync(
      join(root, 'unknown.yaml'),
      document('deny').replace('"codehost.*"', '"codehost.*", "codehost.pr.mrege"'),
    )
    const warning =
      'unknown.yaml: No known action matches "codehost.pr.mrege". Did you mean codehost.pr.merge?'
    const lenient = await cli(['policy', 'test', 'unknown.yaml'])
    expect(lenient).toMatchObject({ code: 0, err: expect.stringContaining(`warning: ${warning}`) })
    const strict = await cli(['policy', 'test', 'unknown.yaml', '--strict'])
    expect(strict).toMatchObject({ code: 1, err: expect.stringContaining(`error: ${warning}`) })
    writeFileSync(join(root, 'good.yaml'), document('deny'))
    expect(await cli(['policy', 'test', 'good.yaml', '--strict'])).toMatchObject({ code: 0 })
  })

  describe('of approver groups', () => {
    const held = document('requires_approval').replace(
      'decision: deny',
      'decision: require_approval, approver_groups: [secops, finance]',
    )
    const check = (...options: string[]) => {
      writeFileSync(join(root, 'held.yaml'), held)
      return cli(['policy', 'test', 'held.yaml', ...options])
    }
    const unknown = 'held.yaml: The group "secops" is not one of --groups.'
    /** Runs `work` with an unrelated server at CHAPERONE_URL. */
    const withServer = async <T>(
      status: number,
      body: string,
      work: (url: string) => Promise<T>,
    ): Promise<T> => {
      const server = createServer((request, response) => {
        request.resume().on('end', () => response.writeHead(status).end(body))
      })
      await once(server.listen(0, '127.0.0.1'), 'listening')
      try {
        return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      } finally {
        server.close()
        server.closeAllConnections()
      }
    }

    it('prints one line that they were not checked if no control plane runs', async () => {
      const { code, err } = await check('--strict')
      expect(code).toBe(0)
      expect(err.split('\n')).toEqual([
        expect.stringContaining('Approver groups were not checked: no control plane'),
      ])
      expect(JSON.parse((await check('--json')).out)).toMatchObject({ groups_checked: false })
    })

    it('prints why they were not checked where the control plane does not answer', async () => {
      writeFileSync(join(root, 'held.yaml'), held)
      const { code, err } = await cli(['policy', 'test', 'held.yaml'], {
        CHAPERONE_URL: 'http://127.0.0.1:9',
      })
      expect(code).toBe(0)
      expect(err).toMatch(/^Approver groups were not checked: The control plane does not answer/)
    })

    const ANSWERS: ReadonlyArray<readonly [string, number, string, RegExp]> = [
      ['refuses', 401, '{"error":"unauthorized"}', /unauthorized/],
      ['forbids', 403, '{"error":"Forbidden"}', /Forbidden/],
      ['fails', 500, '{}', /answered 500/],
      ['is another program with a page', 200, '<html></html>', /is not a control plane/],
      ['is another program with JSON', 200, '{"ok":true}', /is not a control plane/],
      ['is another program with a list', 200, '[]', /is not a control plane/],
      ['is another program with null', 200, 'null', /is not a control plane/],
      ['is another program with nothing', 204, '', /is not a control plane/],
    ]
    it.each(ANSWERS)(
      'fails with --strict where the server at CHAPERONE_URL %s',
      async (_how, status, body, why) => {
        writeFileSync(join(root, 'held.yaml'), held)
        await withServer(status, body, async (url) => {
          const env = { CHAPERONE_URL: url, CHAPERONE_TOKEN: 'x' }
          const strict = await cli(['policy', 'test', 'held.yaml', '--strict'], env)
          expect(strict).toMatchObject({ code: 1, out: expect.stringContaining('1 passed, 0 failed') })
          expect(strict.err).toMatch(/^error: Approver groups were not checked: /)
          expect(strict.err).toMatch(why)
          const lenient = await cli(['policy', 'test', 'held.yaml', '--json'], env)
          expect(lenient).toMatchObject({ code: 0, err: expect.stringMatching(/^Approver groups were not/) })
          expect(JSON.parse(lenient.out)).toMatchObject({ groups_checked: false })
        })
      },
    )

    it('fails with --strict where nothing answers at CHAPERONE_URL, and needs it for named groups only', async () => {
      const env = { CHAPERONE_URL: 'http://127.0.0.1:9' }
      writeFileSync(join(root, 'held.yaml'), held)
      const { code, err, out } = await cli(['policy', 'test', 'held.yaml', '--strict'], env)
      expect({ code, out }).toMatchObject({ code: 1, out: expect.stringContaining('1 passed, 0 failed') })
      expect(err).toMatch(/^error: Approver groups were not checked: The control plane does not answer/)
      writeFileSync(join(root, 'good.yaml'), document('deny'))
      expect(await cli(['policy', 'test', 'good.yaml', '--strict'], env)).toMatchObject({ code: 0, err: '' })
    })

    it.each([[], ['--groups', 'finance']])(
      'reports groups_checked: null where no policy names a group (%s %s)',
      async (...options) => {
        writeFileSync(join(root, 'good.yaml'), document('deny'))
        const { out } = await cli(['policy', 'test', 'good.yaml', '--json', ...options])
        expect(JSON.parse(out)).toMatchObject({ groups_checked: null })
      },
    )

    it('reads the groups with members from --groups', async () => {
      expect(await check('--strict', '--groups', 'finance, secops')).toMatchObject({ code: 0, err: '' })
      const lenient = await check('--groups', 'finance')
      expect(lenient).toMatchObject({ code: 0, err: expect.stringContaining(`warning: ${unknown}`) })
      expect(lenient.err).not.toContain('finance"')
      const strict = await check('--strict', '--groups', 'finance,secosp')
      expect(strict).toMatchObject({ code: 1, err: expect.stringContaining(`error: ${unknown}`) })
      expect(strict.err).toContain('Did you mean "secosp"?')
      expect(JSON.parse((await check('--json', '--groups', 'finance')).out)).toMatchObject({
        groups_checked: true,
        policies: [{ warnings: [expect.stringContaining('"secops"')] }],
      })
    })

    it.each(['', ',', 'a,', ',a', ' '])('rejects the names "%s"', async (names) => {
      expect(await check(`--groups=${names}`)).toMatchObject({ code: 2 })
    })
  })

  it('names the file of a condition that does not compile', async () => {
    writeFileSync(join(root, 'tpye.yaml'), document('deny').replace('action.type', 'action.tpye'))
    const { code, err } = await cli(['policy', 'test', 'tpye.yaml'])
    expect(code).toBe(1)
    expect(err).toContain('tpye.yaml: rule "no-deletes", condition 1')
    expect(err).toContain('(did you mean type?)')
  })

  it('names file and line of a manifest with a mistake', async () => {
    writeFileSync(
      join(root, 'typo.yaml'),
      'apiVersion: chaperone.dev/v1alpha1\nkind: Policy\nmetadata: { name: x }\nspec:\n  rules:\n    - { name: a, decision: perhaps }\n',
    )
    const { code, err } = await cli(['policy', 'test', 'typo.yaml'])
    expect(code).toBe(1)
    expect(err).toMatch(/typo\.yaml:6: spec\.rules\[0\]\.decision/)
  })
})
