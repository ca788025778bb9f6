import { Alert, Text } from '@mantine/core'
import type { ManifestEdit } from '../../../../core/wire/policies.ts'
import { useSession } from '../../session/session.tsx'
import { Icon } from '../layout/icon.tsx'
import { CopyText } from '../text/copy-text.tsx'
import { UntrustedText } from '../text/untrusted-text.tsx'

/** Shows the manifest that the user must commit, because the edit itself was refused. */
export function ManifestEditNote({
  edit,
  message,
}: {
  readonly edit: ManifestEdit
  /** Instructions that the API returns for an edit without a manifest to commit. */
  readonly message: string
}) {
  const { manifest, removed } = edit
  return (
    <Alert
      color="indigo"
      variant="outline"
      icon={<Icon name="policies" />}
      title={titleOf(edit)}
      className="note"
      role="status"
      mb="sm"
    >
      <Text size="sm" mb="xs">
        {isRemedyAlone(edit)
          ? message
          : 'Nothing was saved: this installation edits its objects in YAML. Commit this change; it takes effect within seconds after it is applied.'}
      </Text>
      <EditResults edit={edit} />
      {removed.length === 0 ? null : (
        <Text size="sm" mb="xs">
          Remove: {removed.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(', ')}
        </Text>
      )}
      {manifest === '' ? null : <CopyText label="Manifest" text={manifest} />}
    </Alert>
  )
}

/**
 * Reports whether the reply contains neither a manifest nor a removed object. The user must then change another
 * object or a Secret.
 */
function isRemedyAlone({ manifest, removed }: ManifestEdit): boolean {
  return manifest === '' && removed.length === 0
}

function titleOf(edit: ManifestEdit): string {
  if (isRemedyAlone(edit)) return 'Edited in YAML'
  return edit.manifest === '' ? 'Objects to remove from the repository' : 'Manifest to commit'
}

/** Shows the test results of the edited policies, and the result of replaying recent requests. */
function EditResults({ edit: { tests, replay } }: { readonly edit: ManifestEdit }) {
  return (
    <>
      {tests.map((one) => (
        <Text size="sm" mb="xs" key={one.policy} component="div">
          <UntrustedText text={`Tests of ${one.policy}: ${testsText(one.tests)}`} />
        </Text>
      ))}
      {replay === null ? null : (
        <Text size="sm" mb="xs">
          Recent traffic: {replayText(replay)}
        </Text>
      )}
    </>
  )
}

function testsText(tests: ManifestEdit['tests'][number]['tests']): string {
  if (tests.length === 0) return 'none.'
  const failed = tests.filter(({ passed }) => !passed)
  if (failed.length === 0) return `all ${tests.length} passed.`
  const names = failed.map(({ name, failure = '' }) => `${name} (${failure})`)
  return `${failed.length} of ${tests.length} failed: ${names.join(', ')}.`
}

function replayText({ considered, changes }: NonNullable<ManifestEdit['replay']>): string {
  if (considered === 0) return 'no recent requests to replay.'
  return `${changes.length} of ${considered} requests would be decided differently.`
}

/**
 * Explains, on pages of Gateways, Connectors, Permissions and Policies, that edits return manifests to commit. Renders
 * nothing in installations that store edits.
 */
export function YamlNote() {
  const { isYaml } = useSession()
  if (!isYaml) return null
  return (
    <Alert
      color="indigo"
      variant="outline"
      icon={<Icon name="policies" />}
      title="Edited in YAML"
      className="note"
      mb="md"
    >
      Changes are not saved here. Each change is shown as a manifest to commit.
    </Alert>
  )
}
