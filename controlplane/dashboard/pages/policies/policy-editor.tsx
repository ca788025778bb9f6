import { Alert, Anchor, Button, Stack } from '@mantine/core'
import type { PolicyDetails } from '../../../../core/wire/policies.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { YamlNote } from '../../components/manifest/manifest-edit.tsx'
import { isReadOnly, ManagedNote } from '../../components/manifest/source-badge.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { PolicyFieldsForm } from './policy-fields-form.tsx'
import { PolicyTabs } from './policy-tabs.tsx'
import { SaveBar } from './save-bar.tsx'
import { TextEditor } from './text-editor.tsx'
import { useCheck } from './use-check.ts'
import { useKeptDraft } from './use-kept-draft.ts'

/** Shows the editor of one policy. With the id `new`, the editor creates a policy. */
export function PolicyEditor({ id }: { readonly id: string }) {
  const policies = useResource('GET /api/dashboard/policies', {}, { on: ['config'] })
  if (id === 'new') return <Editor stored={null} onSaved={policies.reload} />
  return (
    <Loaded of={policies}>
      {({ policies: rows }) => {
        const stored = rows.find((policy) => policy.id === id)
        return stored === undefined ? <Gone /> : <Editor stored={stored} onSaved={policies.reload} />
      }}
    </Loaded>
  )
}

function Gone() {
  return (
    <>
      <PageHead title="Policy" />
      <EmptyState icon="search" title="Policy not found">
        The policy may have been deleted.{' '}
        <Anchor inherit underline="always" href={hrefOf('policies')}>
          All policies
        </Anchor>
      </EmptyState>
    </>
  )
}

type EditorProps = { readonly stored: PolicyDetails | null; readonly onSaved: () => void }

function Editor({ stored, onSaved }: EditorProps) {
  const { may, isYaml } = useSession()
  const { base, draft, isRestored, change, rebase } = useKeptDraft(stored)
  const check = useCheck(draft)
  const isManaged = stored !== null && isReadOnly(stored)
  const readOnly = !may('policies/update') || (isManaged && !isYaml)
  return (
    <div className="policy-page">
      <PageHead title={stored?.name ?? 'New policy'} about={aboutOf(stored)}>
        <Anchor href={hrefOf('policies')} size="sm">
          All policies
        </Anchor>
      </PageHead>
      <Stack gap="md" className="policy-body">
        <YamlNote />
        {isManaged && !isYaml ? (
          <Alert
            color="indigo"
            variant="outline"
            icon={<Icon name="shield" />}
            title="Read-only"
            className="note"
          >
            <ManagedNote row={stored} />
          </Alert>
        ) : null}
        {isRestored ? <RestoredNote onDiscard={() => rebase(stored)} /> : null}
        <PolicyFieldsForm draft={draft} isReadOnly={readOnly} onChange={change} />
        <div className="policy-work">
          <div className="policy-text">
            <TextEditor
              label="policyYaml"
              text={draft.policyYaml}
              problems={check.reply?.problems ?? NO_PROBLEMS}
              isReadOnly={readOnly}
              onChange={(policyYaml) => change({ policyYaml })}
            />
          </div>
          <PolicyTabs
            draft={draft}
            stored={stored}
            check={check}
            onUse={readOnly ? null : (policyYaml) => change({ policyYaml })}
          />
        </div>
        {readOnly ? null : (
          <SaveBar
            base={base}
            stored={stored}
            draft={draft}
            check={check}
            onSaved={onSaved}
            onCreated={() => rebase(null)}
            onRebase={rebase}
          />
        )}
      </Stack>
    </div>
  )
}

function RestoredNote({ onDiscard }: { readonly onDiscard: () => void }) {
  return (
    <Alert
      color="indigo"
      variant="outline"
      icon={<Icon name="clock" />}
      title="Unsaved changes"
      className="note"
    >
      The editor shows changes of an earlier visit that were not saved.
      <div>
        <Button mt="xs" size="compact-sm" variant="default" onClick={onDiscard}>
          Discard unsaved changes
        </Button>
      </div>
    </Alert>
  )
}

const NO_PROBLEMS: readonly never[] = []

function aboutOf(stored: PolicyDetails | null): string {
  if (stored === null) return 'The policy has no effect before it is saved.'
  const { version, active, active_version: activeVersion } = stored
  if (active) return `Version ${version}, active${stored.enabled ? '' : ' once the policy is enabled'}.`
  if (activeVersion === null)
    return `Version ${version}. No version was ever active, because the tests fail. Correct the rules or the tests.`
  return `The tests of version ${version} fail. Version ${activeVersion} stays active.`
}
