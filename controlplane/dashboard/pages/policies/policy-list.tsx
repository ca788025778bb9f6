import { Anchor, Button, Group, Stack, Switch, Text } from '@mantine/core'
import type { PolicyDetails } from '../../../../core/wire/policies.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { EmptyState } from '../../components/layout/empty-state.tsx'
import { ErrorNote } from '../../components/layout/error-note.tsx'
import { Icon } from '../../components/layout/icon.tsx'
import { Loaded } from '../../components/layout/loading.tsx'
import { PageHead } from '../../components/layout/page-head.tsx'
import { ToneBadge } from '../../components/layout/tone-badge.tsx'
import type { BulkAction } from '../../components/list/bulk-actions.tsx'
import { SearchableTable } from '../../components/list/searchable-table.tsx'
import { YamlNote } from '../../components/manifest/manifest-edit.tsx'
import { isReadOnly, SourceBadge } from '../../components/manifest/source-badge.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { useResource } from '../../live/use-resource.ts'
import { hrefOf } from '../../routing/page-location.ts'
import { useSession } from '../../session/session.tsx'
import { StateBadge, TestsBadge } from './policy-badges.tsx'

/** Lists all policies in the order of evaluation. */
export function PolicyList() {
  const { may, isYaml } = useSession()
  const policies = useResource('GET /api/dashboard/policies', {}, { on: ['config'] })
  const toggle = useMutation(async (policy: PolicyDetails) => {
    await enable(!policy.enabled)(policy)
    policies.reload()
  })
  const mayAct = may('policies/update')
  return (
    <>
      <PageHead
        title="Policies"
        about="Rules with conditions. The stricter decision of permissions and policies applies; among policies the one with the highest priority decides."
      >
        {mayAct ? (
          <Button
            component="a"
            href={hrefOf('policies', { policy: 'new' })}
            leftSection={<Icon name="plus" size={16} />}
          >
            New policy
          </Button>
        ) : null}
      </PageHead>
      <YamlNote />
      <Stack gap="md">
        {toggle.error === null ? null : <ErrorNote error={toggle.error} />}
        <Loaded of={policies}>
          {({ policies: rows }) =>
            rows.length === 0 ? (
              <NoPolicies />
            ) : (
              <SearchableTable
                rows={rows}
                keyOf={({ id }) => id}
                nameOf={({ name }) => name}
                textsOf={({ name, description, tags }) => [name, description, ...tags]}
                noun="policies"
                bulk={mayAct && !isYaml ? BULK_ACTIONS : []}
                onDone={policies.reload}
                columns={[
                  { head: 'Policy', cell: (policy) => <Name policy={policy} /> },
                  {
                    head: 'Priority',
                    isWhole: true,
                    cell: ({ priority }) => <span className="number">{priority}</span>,
                  },
                  { head: 'State', isWhole: true, cell: (policy) => <StateBadge policy={policy} /> },
                  { head: 'Tests', isWhole: true, cell: ({ tests }) => <TestsBadge tests={tests} /> },
                  { head: 'Source', isWhole: true, cell: (policy) => <SourceBadge row={policy} /> },
                  { head: 'Updated', isWhole: true, cell: ({ updated_at }) => <TimeText at={updated_at} /> },
                ]}
                actions={
                  mayAct
                    ? (policy) => (
                        <Toggle policy={policy} isBusy={toggle.isBusy} onToggle={() => toggle.run(policy)} />
                      )
                    : undefined
                }
              />
            )
          }
        </Loaded>
      </Stack>
    </>
  )
}

const enable = (enabled: boolean) => async (policy: PolicyDetails) =>
  call('PATCH /api/dashboard/policies', {
    body: { policy_id: policy.id, enabled, expected_version: policy.version },
  })

const BULK_ACTIONS: ReadonlyArray<BulkAction<PolicyDetails>> = [
  {
    label: 'Enable',
    done: 'enabled',
    run: enable(true),
    about: 'These policies decide about requests:',
    appliesTo: (policy) => !policy.enabled && !isReadOnly(policy),
  },
  {
    label: 'Disable',
    done: 'disabled',
    run: enable(false),
    about: 'These policies no longer decide about requests:',
    appliesTo: (policy) => policy.enabled && !isReadOnly(policy),
  },
]

function Name({ policy }: { readonly policy: PolicyDetails }) {
  return (
    <>
      <Anchor href={hrefOf('policies', { policy: policy.id })} fw={600}>
        <UntrustedText text={policy.name} />
      </Anchor>
      {policy.description === '' ? null : (
        <Text size="sm" c="dimmed" component="div">
          <UntrustedText text={policy.description} />
        </Text>
      )}
      {policy.tags.length === 0 ? null : (
        <Group gap={4} mt={4}>
          {policy.tags.map((tag) => (
            <ToneBadge key={tag} tone="quiet">
              {tag}
            </ToneBadge>
          ))}
        </Group>
      )}
    </>
  )
}

function Toggle(props: {
  readonly policy: PolicyDetails
  readonly isBusy: boolean
  readonly onToggle: () => void
}) {
  const { policy, isBusy, onToggle } = props
  const { isYaml } = useSession()
  // A policy of a manifest can be enabled and disabled only in the manifest. The column Source names the manifest.
  if (isReadOnly(policy) && !isYaml) return null
  return (
    <Switch
      aria-label={`${policy.name} is enabled`}
      checked={policy.enabled}
      disabled={isBusy}
      onChange={onToggle}
      size="md"
      display="inline-block"
    />
  )
}

function NoPolicies() {
  return (
    <EmptyState icon="policies" title="No policies">
      Only permissions decide now. A policy adds conditions, such as "merges into production require a release
      manager" or "deny payments over 500". Each policy has its own tests.
    </EmptyState>
  )
}
