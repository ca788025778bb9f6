import { Button, Group } from '@mantine/core'
import { useState } from 'react'
import type { HostedWorkState } from '../../../../core/wire/gateway/hosted-work.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import { Icon } from '../../components/layout/icon.tsx'
import { TimeText } from '../../components/text/time-text.tsx'
import { UntrustedText } from '../../components/text/untrusted-text.tsx'
import { DeactivateDialog } from '../../lazy-dialogs.ts'
import { useResource } from '../../live/use-resource.ts'
import { useSession } from '../../session/session.tsx'
import { scopeLabel } from './scope.ts'

/**
 * Shows a banner on every page while a kill switch is active. In the banner, a user with the right can lift the kill
 * switch.
 */
export function KillSwitchBanner() {
  const { may } = useSession()
  const { data, reload } = useResource(
    'GET /api/dashboard/kill-switch',
    {},
    { on: ['kill'], everyMs: 30_000 },
  )
  const [selected, setSelected] = useState<readonly KillEntry[]>([])
  const entries = data?.effective ?? []
  return (
    <>
      {entries.length === 0 ? null : (
        <section className="kill-switch-banner" aria-label="Kill switch">
          <Group justify="space-between" align="flex-start" gap="sm">
            <div className="grow-long">
              {entries.map((entry) => (
                <div key={`${entry.scope} ${entry.source}`}>
                  <Icon name="stop" /> <strong>Kill switch active for {scopeLabel(entry.scope)}</strong> since{' '}
                  <TimeText at={entry.since} /> ({entry.source}): <UntrustedText text={entry.reason} />
                </div>
              ))}
              {data?.hosted_work === undefined ? null : <HostedWork work={data.hosted_work} />}
            </div>
            {may('killswitches/lift') ? (
              <Button size="xs" variant="white" onClick={() => setSelected(entries)}>
                Deactivate …
              </Button>
            ) : null}
          </Group>
        </section>
      )}
      {selected.length === 0 ? null : (
        <DeactivateDialog
          entries={selected}
          onClose={() => {
            setSelected([])
            reload()
          }}
        />
      )}
    </>
  )
}

/**
 * Shows the cancellation of work that agents started at providers. The traffic log contains every request of the
 * cancellation.
 */
function HostedWork({ work }: { readonly work: HostedWorkState }) {
  const { pending, cancelled, not_cancelled, omitted, note } = work
  if (pending + cancelled.length + not_cancelled.length === 0) return null
  return (
    <div title={note}>
      Work of agents at providers: {cancelled.length} cancelled, {not_cancelled.length} not cancelled,{' '}
      {pending} pending
      {omitted === 0 ? '' : `, ${omitted} more in the traffic log`}
      {not_cancelled.slice(0, 5).map(({ agent, kind, id, detail = '' }) => (
        <div key={`${kind} ${id}`}>
          Not cancelled: <UntrustedText text={`${kind} ${id} of ${agent}. ${detail}`} />
        </div>
      ))}
    </div>
  )
}
