import { Paper, Tabs } from '@mantine/core'
import type { PolicyDetails } from '../../../../core/wire/policies.ts'
import { CheckResult } from './check-result.tsx'
import type { PolicyDraft } from './draft.ts'
import { Replay } from './replay.tsx'
import type { Check } from './use-check.ts'
import { Versions } from './versions.tsx'

type Props = {
  readonly draft: PolicyDraft
  readonly stored: PolicyDetails | null
  readonly check: Check
  /** Replaces the text in the editor; null if the policy is read-only. */
  readonly onUse: ((policyYaml: string) => void) | null
}

/** Shows test results, replay and versions of the policy in the editor. */
export function PolicyTabs({ draft, stored, check, onUse }: Props) {
  return (
    <Paper withBorder p="md" className="policy-tabs">
      <Tabs defaultValue="check" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="check">Tests</Tabs.Tab>
          <Tabs.Tab value="replay">Recent traffic</Tabs.Tab>
          {stored === null ? null : <Tabs.Tab value="versions">Versions</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="check">
          <CheckResult check={check} />
        </Tabs.Panel>
        <Tabs.Panel value="replay">
          <Replay draft={draft} policyId={stored?.id ?? null} />
        </Tabs.Panel>
        {stored === null ? null : (
          <Tabs.Panel value="versions">
            <Versions key={stored.version} policyId={stored.id} text={draft.policyYaml} onUse={onUse} />
          </Tabs.Panel>
        )}
      </Tabs>
    </Paper>
  )
}
