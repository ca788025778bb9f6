import { describe, expect, test } from 'vitest'
import { manifestOrigin } from '../../../../core/crd/manifests/manifest-origin.ts'
import { ManifestOrigin, originText } from '../../../../core/wire/operator/origin.ts'

const COMMIT = '0123456789abcdef0123456789abcdef01234567'
const NOTHING = { file: null, commit: null, deployed_by: null }

describe('the place of a manifest', () => {
  test.each([
    ['nothing', {}, {}],
    [
      'our own annotations',
      {
        annotations: {
          'chaperone.dev/source-file': 'policies/a.yaml',
          'chaperone.dev/source-commit': COMMIT,
        },
      },
      { file: 'policies/a.yaml', commit: COMMIT },
    ],
    [
      'kustomize, of a local file',
      { annotations: { 'config.kubernetes.io/origin': 'path: base/policy.yaml\n' } },
      { file: 'base/policy.yaml' },
    ],
    [
      'kustomize, of a remote base at a commit',
      {
        annotations: {
          'config.kubernetes.io/origin': `path: p.yaml\nrepo: https://git.example.com/a\nref: ${COMMIT}\n`,
        },
      },
      { file: 'p.yaml', commit: COMMIT },
    ],
    [
      'kustomize, of a remote base at a branch',
      { annotations: { 'config.kubernetes.io/origin': 'path: p.yaml\nref: main\n' } },
      { file: 'p.yaml' },
    ],
    [
      'our annotations before those of kustomize',
      {
        annotations: {
          'chaperone.dev/source-file': 'a.yaml',
          'config.kubernetes.io/origin': 'path: b.yaml\n',
        },
      },
      { file: 'a.yaml' },
    ],
    [
      'Argo CD',
      { annotations: { 'argocd.argoproj.io/tracking-id': 'payments:chaperone.dev/Policy:team/prod' } },
      { deployed_by: 'Argo CD payments' },
    ],
    [
      'a Kustomization of Flux',
      {
        labels: {
          'kustomize.toolkit.fluxcd.io/name': 'apps',
          'kustomize.toolkit.fluxcd.io/namespace': 'flux-system',
        },
      },
      { deployed_by: 'Flux flux-system/apps' },
    ],
    [
      'a HelmRelease of Flux',
      { labels: { 'helm.toolkit.fluxcd.io/name': 'rules', 'helm.toolkit.fluxcd.io/namespace': 'team' } },
      { deployed_by: 'Flux team/rules' },
    ],
    [
      'Helm',
      {
        annotations: { 'meta.helm.sh/release-name': 'rules', 'meta.helm.sh/release-namespace': 'team' },
      },
      { deployed_by: 'Helm team/rules' },
    ],
  ])('is read from %s', (_name, metadata, expected) => {
    expect(manifestOrigin(metadata)).toEqual({ ...NOTHING, ...expected })
  })

  test.each([
    ['a line break', 'a.yaml\nb'],
    ['an escape sequence', 'a\u001b[31m.yaml'],
    ['nothing but blanks', '  '],
    ['a megabyte', 'a'.repeat(1_000_000)],
  ])('is not %s', (_name, text) => {
    const annotations = {
      'chaperone.dev/source-file': text,
      'chaperone.dev/source-commit': text,
      'argocd.argoproj.io/tracking-id': text,
      'config.kubernetes.io/origin': `path: ${JSON.stringify(text)}`,
    }
    const origin = manifestOrigin({ annotations })
    expect(origin).toEqual(NOTHING)
    expect(ManifestOrigin.parse(origin)).toEqual(origin)
  })

  test.each(['path: [a]', '- a', '"', 'a: &a [x]\nb: *a', '{', '', 'path: {a: b}'])(
    'is unknown when the origin of kustomize is %j',
    (text) => {
      expect(manifestOrigin({ annotations: { 'config.kubernetes.io/origin': text } })).toEqual(NOTHING)
    },
  )
})

test('one line names the source of a row', () => {
  const manifest = { from: 'manifest', ...NOTHING } as const
  expect(originText({ from: 'built_in', ...NOTHING }, null)).toBe('built in')
  expect(originText({ from: 'command_line', ...NOTHING }, null)).toBe('command line')
  expect(originText({ ...manifest, file: 'a.yaml', commit: COMMIT }, 'kubernetes Policy a/b')).toBe(
    'a.yaml@0123456789ab',
  )
  expect(originText(manifest, 'kubernetes Policy a/b')).toBe('kubernetes Policy a/b')
  expect(originText({ ...manifest, commit: 'v1.2' }, '10.yaml')).toBe('10.yaml@v1.2')
})
