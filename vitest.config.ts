import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The deadlines end what would never end. They are no assertions: on a busy machine everything takes many times as long. */
const LIMITS = { testTimeout: 90_000, hookTimeout: 180_000, pool: 'forks' } as const
const SETUP = ['test/support/worker-state.ts']

/**
 * By how long they took: one that began last would keep everybody waiting for it alone. Those that mostly wait stand
 * between those that compute, so that the cores always have something to do.
 */
const LONGEST = [
  'test/system/minted-storm.test.ts',
  'test/controlplane/sync/partition.test.ts',
  'test/capture/startup.test.ts',
  'test/up/up.test.ts',
  'test/controlplane/v1/gateway-url.test.ts',
  'test/operator/cluster/kill.test.ts',
  'test/controlplane/sync/replicas.test.ts',
  'test/capture/bypass.test.ts',
  'test/operator/inject/admission-component.test.ts',
  'test/controlplane/sync/failover.test.ts',
  'test/controlplane/cluster/callers.test.ts',
  'test/system/minted-credentials.test.ts',
  'test/agents/pinned.test.ts',
  'test/operator/cluster/outage.test.ts',
  'test/capture/laptop.test.ts',
  'test/operator/cluster/reconcile.test.ts',
  'test/clients/clients.test.ts',
  'test/capture/egress.test.ts',
  'test/controlplane/proof/canaries.test.ts',
  'test/faults/replica-faults.test.ts',
  'test/system/tenants.test.ts',
  'test/system/denial-audit.test.ts',
  'test/operator/cluster/secrets.test.ts',
  'test/capture/iptables.test.ts',
  'test/operator/webhook/webhook.test.ts',
  'test/faults/soak.test.ts',
  'test/controlplane/proof/notifications.test.ts',
  'test/controlplane/notify/outbox.test.ts',
  'test/operator/cluster/crd-versions.test.ts',
  'test/clients/held-retries.test.ts',
  'test/clients/grpc/grpc-node.test.ts',
  'test/skew/skew.test.ts',
  'test/faults/gateway-faults.test.ts',
  'test/operator/cluster/main.test.ts',
  'test/operator/cluster/pods.test.ts',
  'test/helm/upgrade.test.ts',
  'test/controlplane/proof/clocks.test.ts',
  'test/operator/guard/policies.test.ts',
  'test/controlplane/proof/master-key-kills.test.ts',
  'test/system/flood.test.ts',
  'test/sidecar/upstream/http2/silent-calls.test.ts',
  'test/controlplane/sync/kill-generation.test.ts',
  'test/sidecar/journal/sync.test.ts',
  'test/operator/cluster/faults.test.ts',
  'test/system/egress-warnings.test.ts',
  'test/capture/crowded.test.ts',
  'test/controlplane/notify/chat.test.ts',
  'test/sidecar/process/stop.test.ts',
  'test/helm/chart.test.ts',
  'test/controlplane/notify/channels.test.ts',
  'test/controlplane/credentials/master-key-rotation.test.ts',
  'test/dashboard/admin/pages.test.ts',
  'test/dashboard/users.test.ts',
  'test/dashboard/looks.test.ts',
  'test/dashboard/journey.test.ts',
  'test/dashboard/page-session.test.ts',
  'test/dashboard/details.test.ts',
  'test/dashboard/provider-sign-in.test.ts',
  'test/dashboard/credentials.test.ts',
]

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((path) => moduleId.endsWith(path))
      return at === -1 ? LONGEST.length : at
    }
    return (await super.sort(files)).toSorted((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/global-setup.ts',
    // Every file starts what it needs and ends it; loading our modules anew for each takes longer than most of their tests.
    isolate: false,
    // One slow file must not hide behind a fast one: every failure prints its whole message.
    reporters: ['default'],
    // Few projects, because a worker ends with its project. Files that mostly wait, as those of the capture, stand beside others.
    projects: [
      {
        test: {
          ...LIMITS,
          setupFiles: SETUP,
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/dashboard/**', 'test/bench/**', '**/node_modules/**'],
          // For two cores: most of the time a test waits for a clock, a process or the network.
          maxWorkers: 5,
        },
      },
      {
        test: {
          ...LIMITS,
          setupFiles: SETUP,
          name: 'dashboard',
          include: ['test/dashboard/**/*.test.ts'],
          // After the others: a browser drops whatever it loads when a network interface comes or goes, as those of the capture do.
          sequence: { groupOrder: 1 },
          // A browser computes more than it waits.
          maxWorkers: 4,
        },
      },
    ],
  },
})
