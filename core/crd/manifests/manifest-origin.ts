import { parse } from 'yaml'
import type { ManifestOrigin } from '../../wire/operator/origin.ts'

type Texts = Readonly<Record<string, string>>
type Metadata = { readonly annotations?: Texts | undefined; readonly labels?: Texts | undefined }

const MAX_LENGTH = 300
const MAX_KUSTOMIZE_ORIGIN = 4_000

/**
 * Returns the source of a manifest and the tool that applied it. The source is stated in the product's annotations,
 * else in those of kustomize (`buildMetadata: [originAnnotations]`). The tool is derived from the annotations and
 * labels of Argo CD, Flux and Helm. The result is for display only, because the author of the object controls all of
 * these fields.
 */
export function manifestOrigin({ annotations = {}, labels = {} }: Metadata): ManifestOrigin {
  const built = kustomizeOrigin(annotations['config.kubernetes.io/origin'])
  return {
    file: bounded(annotations['chaperone.dev/source-file']) ?? built.file,
    commit: bounded(annotations['chaperone.dev/source-commit']) ?? built.commit,
    deployed_by: deployedBy(annotations, labels),
  }
}

/** Parses the annotation of kustomize: YAML with `path`, and for a remote base `repo` and `ref`. */
function kustomizeOrigin(text: string | undefined): Pick<ManifestOrigin, 'file' | 'commit'> {
  const none = { file: null, commit: null }
  if (text === undefined || text.length > MAX_KUSTOMIZE_ORIGIN) return none
  try {
    const origin: unknown = parse(text, { maxAliasCount: 0, logLevel: 'silent' })
    if (typeof origin !== 'object' || origin === null) return none
    const { path, ref } = origin as Readonly<Record<string, unknown>>
    // `ref` may also be a branch, which does not identify the content.
    return { file: bounded(path), commit: isCommit(ref) ? ref : null }
  } catch {
    return none
  }
}

function deployedBy(annotations: Texts, labels: Texts): string | null {
  // Format of the tracking id: `APPLICATION:GROUP/KIND:NAMESPACE/NAME`.
  const application = annotations['argocd.argoproj.io/tracking-id']?.split(':')[0]
  const named = (tool: string, namespace: string | undefined, name: string | undefined) =>
    bounded(name) && bounded(`${tool} ${namespace === undefined ? '' : `${namespace}/`}${name}`)
  return (
    named('Argo CD', undefined, application) ??
    fluxObject(labels, 'kustomize', named) ??
    fluxObject(labels, 'helm', named) ??
    named('Helm', annotations['meta.helm.sh/release-namespace'], annotations['meta.helm.sh/release-name']) ??
    null
  )
}

function fluxObject(
  labels: Texts,
  controller: 'kustomize' | 'helm',
  named: (tool: string, namespace: string | undefined, name: string | undefined) => string | null,
): string | null {
  const prefix = `${controller}.toolkit.fluxcd.io`
  return named('Flux', labels[`${prefix}/namespace`], labels[`${prefix}/name`])
}

function isCommit(value: unknown): value is string {
  return typeof value === 'string' && /^[0-9a-f]{40}([0-9a-f]{24})?$/i.test(value)
}

/** Returns a text of one line within the maximum length; null for any other value. */
function bounded(value: unknown): string | null {
  if (typeof value !== 'string' || value.length > MAX_LENGTH) return null
  const text = value.trim()
  return text === '' || /\p{Cc}/u.test(text) ? null : text
}
