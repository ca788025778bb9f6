import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { codeViolations } from '../../../scripts/structure/code-rules.ts'
import { featureViolations } from '../../../scripts/structure/feature-rules.ts'
import { importViolations } from '../../../scripts/structure/import-rules.ts'
import { sourceFile } from '../../../scripts/structure/source-files.ts'

const messages = (path: string, text: string) => {
  const file = sourceFile(path, text)
  return [...importViolations(file), ...codeViolations(file)].map(({ line, message }) => `${line} ${message}`)
}

describe('npm run release', () => {
  it('refuses an unknown platform in one line, before it changes anything', () => {
    const script = join(import.meta.dirname, '../../../scripts/release.ts')
    const given = [script, '--uncommitted', '--platform', 'mips', '--out', '/nonexistent/release']
    const { status, stdout, stderr } = spawnSync(process.execPath, given, { encoding: 'utf8' })
    expect({ status, stdout, stderr }).toEqual({
      status: 1,
      stdout: '',
      stderr: 'release: --platform is one of amd64, arm64.\n',
    })
  })
})

describe('the structure check', () => {
  it.each([
    ['core/a.ts', "import { readFile } from 'node:fs'", /^1 imports node:fs: core imports only itself/],
    ['core/a.ts', "import fastify from 'fastify'", /core imports only itself/],
    ['core/decision/a.ts', "import { x } from '../../sidecar/x.ts'", /core imports only itself/],
    ['sidecar/a.ts', "import { x } from '../controlplane/x.ts'", /meet only over HTTP/],
    ['operator/a.ts', "import type { X } from '../sidecar/x.ts'", /meet only over HTTP/],
    ['controlplane/a.ts', "const x = await import('../operator/x.ts')", /meet only over HTTP/],
    ['controlplane/features/a/routes.ts', "import { x } from './store.ts'", /never sees SQL/],
    ['controlplane/features/a/routes.ts', "import * as z from 'zod'", /schemas .* stand in core\/wire/],
    [
      'controlplane/features/a/service.ts',
      "import { x } from '../../http/server.ts'",
      /never sees a request/,
    ],
    [
      'sidecar/pipeline/stages/hold.ts',
      "import { dial } from '../../upstream/dial.ts'",
      /only the forward stage/,
    ],
    [
      'controlplane/dashboard/a.ts',
      "import { x } from '../../core/wire/gateway/internal.ts'",
      /browser code/,
    ],
    ['controlplane/dashboard/a.ts', "import { z } from 'zod'", /browser code/],
    ['scripts/a.ts', "import { x } from '../test/x.ts'", /nothing imports test/],
    ['core/a.ts', '\nconst x = Math.random()', /^2 core has no randomness/],
    ['core/a.ts', 'const x = Date.now()', /core has no clock/],
    ['core/a.ts', 'const x = new Date( )', /core has no clock/],
    ['sidecar/a.ts', 'const x = process.env', /reads? the environment/],
    ['sidecar/index.ts', "export * from './a.ts'", /no barrels/],
    ['sidecar/index.ts', "export { a } from './a.ts'", /no barrels/],
    ['sidecar/a.ts', "import { x } from './x'", /write the extension/],
    ['sidecar/a.ts', 'x()\n'.repeat(301), /^301 has 301 lines, at most 300/],
    ['sidecar/main.ts', 'x()\n'.repeat(61), /at most 60/],
  ])('reports the violation in %s: %s', (path, text, expected) => {
    expect(messages(path, text)).toEqual([expect.stringMatching(expected)])
  })

  it.each([
    ['a feature of another', "import { x } from '../b/store.ts'", /a feature offers service.ts, rows.ts/],
    ['a feature of a file that is not public', "import { x } from '../b/c/d.ts'", /a feature offers/],
  ])('reports the import by %s', (_, text, expected) => {
    const file = sourceFile('controlplane/features/a/service.ts', text)
    expect(featureViolations([file]).map(({ message }) => message)).toEqual([expect.stringMatching(expected)])
  })

  it.each([
    ['its own store', "import { x } from './store.ts'"],
    ['the service of another', "import { x } from '../b/service.ts'"],
    ['the rows of another', "import { x } from '../b/rows.ts'"],
    ['types of another', "import type { X } from '../b/store.ts'"],
  ])('accepts that a feature imports %s', (_, text) => {
    expect(featureViolations([sourceFile('controlplane/features/a/service.ts', text)])).toEqual([])
  })

  it.each([
    ['controlplane/sync/hub.ts', "import { x } from '../features/b/store.ts'", 1],
    ['controlplane/config.ts', "import { x } from './features/b/c/settings.ts'", 0],
    ['controlplane/config.ts', "import { x } from './features/b/store.ts'", 1],
    ['controlplane/caller-services.ts', "import { createX } from './features/b/x.ts'", 0],
  ])('bounds what %s imports of a feature: %s', (path, text, expected) => {
    expect(featureViolations([sourceFile(path, text)])).toHaveLength(expected)
  })

  it.each([
    ['controlplane/features/a/b', 12],
    ['core/wire', 20],
  ])('reports the folder %s with more than %i files', (path, most) => {
    const folder = (count: number) =>
      Array.from({ length: count }, (_, index) => sourceFile(`${path}/file-${index}.ts`, ''))
    expect(featureViolations(folder(most))).toEqual([])
    expect(featureViolations(folder(most + 1)).map((found) => `${found.path} ${found.message}`)).toEqual([
      expect.stringMatching(`^${path} has ${most + 1} source files`),
    ])
  })

  it('reports a write in the rows of a feature', () => {
    const rows = sourceFile(
      'controlplane/features/a/rows.ts',
      'await q.query(`select 1`)\nawait q.query(`update a set b = 1`)\nawait q.query(\n  `insert into a values (1)`)',
    )
    expect(featureViolations([rows]).map(({ line }) => line)).toEqual([2, 4])
  })

  it.each([
    ['core/a.ts', "import * as z from 'zod'\nimport { RE2JS } from 're2js'\nimport { x } from './b.ts'"],
    [
      'core/a.ts',
      "// Math.random and Date.now are not for us\nconst said = 'new Date()'\nconst day = new Date(ms)",
    ],
    ['controlplane/features/a/service.ts', "import type { UserPrincipal } from '../../http/auth/auth.ts'"],
    ['controlplane/dashboard/a.ts', "import type { Card } from '../../core/wire/gateway/internal.ts'"],
    ['controlplane/features/a/routes.ts', "import type * as z from 'zod'"],
    ['controlplane/main.ts', 'start(process.env)'],
    ['sidecar/pipeline/stages/forward.ts', "import { dial } from '../../upstream/dial.ts'"],
    ['test/a.test.ts', "import { x } from '../sidecar/a.ts'\nprocess.env"],
  ])('accepts %s', (path, text) => {
    expect(messages(path, text)).toEqual([])
  })
})

describe('the generated CRDs', () => {
  let out: string
  beforeEach(() => {
    out = mkdtempSync(join(tmpdir(), 'chaperone-crds-'))
  })
  afterEach(() => rmSync(out, { recursive: true, force: true }))

  const generate = (...flags: string[]) =>
    spawnSync(process.execPath, ['scripts/generate.ts', '--out', out, ...flags], {
      cwd: join(import.meta.dirname, '../../..'),
      encoding: 'utf8',
    })

  it('are four namespaced kinds with short names and the category chaperone', () => {
    expect(generate().status).toBe(0)
    const crds = readdirSync(out).map((name) => parse(readFileSync(join(out, name), 'utf8')))
    expect(crds.map((crd) => crd.spec.names.shortNames[0]).sort()).toEqual(['ccon', 'cgw', 'cperm', 'cpol'])
    for (const crd of crds) {
      expect(crd.spec.scope).toBe('Namespaced')
      expect(crd.spec.names.categories).toEqual(['chaperone'])
      expect(crd.metadata.name).toBe(`${crd.spec.names.plural}.chaperone.dev`)
    }
  })

  it('are structural: every level has a type, and no field that Kubernetes forbids', () => {
    generate()
    const problems: string[] = []
    const walk = (schema: Record<string, unknown>, path: string) => {
      const isOpen =
        schema['x-kubernetes-preserve-unknown-fields'] === true ||
        schema['x-kubernetes-int-or-string'] === true
      if (schema['type'] === undefined && !isOpen) problems.push(`${path}: no type`)
      for (const key of ['$schema', '$ref', 'const', 'propertyNames', 'definitions'])
        if (key in schema) problems.push(`${path}: ${key}`)
      if (schema['additionalProperties'] !== undefined && schema['properties'] !== undefined)
        problems.push(`${path}: both`)
      for (const [name, inner] of Object.entries((schema['properties'] ?? {}) as Record<string, never>))
        walk(inner, `${path}.${name}`)
      if (schema['items'] !== undefined) walk(schema['items'] as Record<string, unknown>, `${path}[]`)
    }
    for (const name of readdirSync(out))
      walk(parse(readFileSync(join(out, name), 'utf8')).spec.versions[0].schema.openAPIV3Schema, name)
    expect(problems).toEqual([])
  })

  it('are checked: an edited file is reported', () => {
    generate()
    expect(generate('--check').status).toBe(0)
    appendFileSync(join(out, 'chaperone.dev_policies.yaml'), '# edited\n')
    const checked = generate('--check')
    expect(checked.status).toBe(1)
    expect(checked.stderr).toContain('chaperone.dev_policies.yaml is out of date. Run npm run generate.')
  })
})
