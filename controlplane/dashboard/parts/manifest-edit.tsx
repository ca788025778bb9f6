import { Alert, Text } from '@mantine/core'
import type { ManifestEdit } from '../api/api-error.ts'
import { useSession } from '../session/session.tsx'
import { CopyText } from './copy-text.tsx'
import { Icon } from './icon.tsx'

/** What to commit in place of an edit. */
export function ManifestEditNote({ edit }: { readonly edit: ManifestEdit }) {
  const { manifest, removed } = edit
  return (
    <Alert
      color="indigo"
      variant="outline"
      icon={<Icon name="policies" />}
      title={manifest === '' ? 'To remove from the repository' : 'Manifest to commit'}
      className="note"
      role="status"
      mb="sm"
    >
      <Text size="sm" mb="xs">
        Nothing was changed here: objects of this installation are edited in YAML. Once the change is merged
        and applied, it is in force within seconds.
      </Text>
      {removed.length === 0 ? null : (
        <Text size="sm" mb="xs">
          Remove: {removed.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`).join(', ')}
        </Text>
      )}
      {manifest === '' ? null : <CopyText label="Manifest" text={manifest} />}
    </Alert>
  )
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
