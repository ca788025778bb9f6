import { Alert, Text } from '@mantine/core'
import type { ManifestEdit } from '../../api/api-error.ts'
import { useSession } from '../../session/session.tsx'
import { Icon } from '../layout/icon.tsx'
import { CopyText } from '../text/copy-text.tsx'
import { UntrustedText } from '../text/untrusted-text.tsx'

/** What to commit in place of an edit. */
export function ManifestEditNote({
  edit,
  message,
}: {
  readonly edit: ManifestEdit
  /** What to do, where there is no manifest to commit. */
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
          : 'Nothing was changed here: objects of this installation are edited in YAML. Once the change is merged and applied, it is in force within seconds.'}
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

/** Neither a manifest nor a removal: another object or a Secret is to be changed. */
function isRemedyAlone({ manifest, removed }: ManifestEdit): boolean {
  return manifest === '' && removed.length === 0
}

function titleOf(edit: ManifestEdit): string {
  if (isRemedyAlone(edit)) return 'Edited in YAML'
  return edit.manifest === '' ? 'To remove from the repository' : 'Manifest to commit'
}

/** How the tests of the edited policies went, and what recent requests say. */
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
  if (tests.length === 0) return 'it has none.'
  const failed = tests.filter(({ passed }) => !passed)
  if (failed.length === 0) return `all ${tests.length} pass.`
  const names = failed.map(({ name, failure = '' }) => `${name} (${failure})`)
  return `${failed.length} of ${tests.length} fail: ${names.join(', ')}.`
}

function replayText({ considered, changes }: NonNullable<ManifestEdit['replay']>): string {
  if (considered === 0) return 'there is no recent request to decide again.'
  return `${changes.length} of ${considered} requests would be decided otherwise.`
}

/** Says on a page of these objects how they are edited; nothing where pages store them. */
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
      Edit as usual: instead of being saved, each change is shown as the manifest to commit.
    </Alert>
  )
}
