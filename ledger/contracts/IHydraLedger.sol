// SPDX-License-Identifier: Apache-2.0
// Events, errors and plain data of the ledger's contract: what other programs rely on. No code.
pragma solidity 0.8.37;

interface IHydraLedger {
    /// @notice Where a job stands. A job id never returns to None.
    enum JobStatus {
        None,
        Locked,
        Settled,
        Released
    }

    /// @notice Who holds which role, and the limits that stay fixed for this deployment. Zero address: nobody yet.
    struct Setup {
        address admin;
        address recorder;
        address spender;
        address binder;
        address guardian;
        uint48 adminDelay;
        uint48 bindDelay;
        uint32 windowSeconds;
        uint128 windowCap;
    }

    /// @notice The contract's own sums: recorded = available + credits + locked + spent + supply, spent = used - paid.
    struct Totals {
        uint256 recorded;
        uint256 available;
        uint256 credits;
        uint256 locked;
        uint256 spent;
        uint256 supply;
        uint256 used;
        uint256 paid;
        uint256 nextNumber;
    }

    /// @notice A job's escrow: of `maximum` locked, `used` was claimed and `paid` of it went out in `payouts` payouts.
    struct Job {
        bytes32 account;
        uint128 maximum;
        uint128 used;
        uint128 paid;
        uint64 payouts;
        JobStatus status;
    }

    event RewardRecorded(uint256 indexed number, bytes32 indexed account, uint256 amount);
    event BatchRecorded(uint256 indexed first, uint256 count, bytes32 evidenceRoot);
    event Unlocked(bytes32 indexed account, uint256 amount, bytes32 indexed opId);
    event Locked(bytes32 indexed account, bytes32 indexed job, uint256 maximum);
    event Settled(bytes32 indexed job, bytes32 indexed account, uint256 used, uint256 returned);
    event WorkerPaid(bytes32 indexed job, uint256 number, bytes32 indexed account, uint256 amount);
    event Released(bytes32 indexed job, bytes32 indexed account, uint256 amount);
    event Deposited(bytes32 indexed account, address indexed wallet, uint256 amount);
    event Withdrawn(bytes32 indexed account, address indexed wallet, uint256 amount);

    error BadSetup(string what);
    error ListsDiffer(uint256 accounts, uint256 amounts);
    error BadBatchSize(uint256 count, uint256 maximum);
    error ZeroAccount();
    error ZeroAmount();
    error NotWholeNano(uint256 amount);
    error NumberAlreadyRecorded(uint256 number);
    error WindowCapExceeded(uint256 asked, uint256 left);
    error OperationAlreadyDone(bytes32 opId);
    error InsufficientAvailable(bytes32 account, uint256 available, uint256 asked);
    error InsufficientCredits(bytes32 account, uint256 credits, uint256 asked);
    error JobAlreadyKnown(bytes32 job);
    error JobNotLocked(bytes32 job);
    error JobNotSettled(bytes32 job);
    error UsedExceedsMaximum(uint256 used, uint256 maximum);
    error PayoutOutOfOrder(uint256 expected, uint256 given);
    error PayoutsExceedUsed(uint256 left, uint256 asked);
}
