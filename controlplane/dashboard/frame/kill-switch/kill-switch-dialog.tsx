import { Modal } from '@mantine/core'
import { useState } from 'react'
import type { KillSwitchReply } from '../../../../core/wire/kill-switch.ts'
import { call } from '../../api/client.ts'
import { useMutation } from '../../components/form/use-mutation.ts'
import { useSession } from '../../session/session.tsx'
import { ResultStep } from './result-step.tsx'
import { type KillSwitchRequest, ScopeForm } from './scope-form.tsx'

type Done = { readonly scope: string; readonly reply: KillSwitchReply }

/** Activates the kill switch, then shows how many gateways have acknowledged it. */
export function KillSwitchDialog({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean
  readonly onClose: () => void
}) {
  const { user } = useSession()
  const [done, setDone] = useState<Done | null>(null)
  const activate = useMutation(async ({ scope, reason }: KillSwitchRequest) => {
    const body = { active: true, scope, reason: reasonBy(user.email, reason) }
    setDone({ scope, reply: await call('POST /api/dashboard/kill-switch', { body }) })
  })
  const close = () => {
    onClose()
    activate.reset()
  }
  return (
    <Modal
      opened={isOpen}
      onClose={close}
      onExitTransitionEnd={() => setDone(null)}
      title={done === null ? 'Activate the kill switch' : 'Kill switch active'}
      closeButtonProps={{ 'aria-label': 'Close' }}
      centered
    >
      {done === null ? (
        <ScopeForm isBusy={activate.isBusy} error={activate.error} onActivate={activate.run} />
      ) : (
        <ResultStep reply={done.reply} scope={done.scope} onClose={close} />
      )}
    </Modal>
  )
}

/**
 * Returns the reason that agents and users read. The reason names the user, because the banner has no other field for
 * the user.
 */
function reasonBy(user: string, reason: string): string {
  return reason === '' ? `activated by ${user}` : `${reason} (${user})`
}
