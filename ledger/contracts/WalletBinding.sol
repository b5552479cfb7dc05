// SPDX-License-Identifier: Apache-2.0
// One opaque account to one wallet and back: only with the wallet's own signature, only after a delay in which it can
// be vetoed, and never undone by an operator. Who may ask and who may veto is the inheriting contract's business.
pragma solidity 0.8.37;

import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

abstract contract WalletBinding is EIP712 {
    struct PendingBind {
        address wallet;
        uint48 readyAt;
    }

    bytes32 public constant BIND_TYPEHASH =
        keccak256("Bind(bytes32 account,address wallet,uint256 nonce,uint256 deadline)");

    /// @notice Seconds between a request and the moment at which it can be made final.
    uint48 public immutable bindDelay;

    /// @notice The wallet of an account; zero while unbound.
    mapping(bytes32 account => address wallet) public walletOf;
    /// @notice The account of a wallet; zero while unbound.
    mapping(address wallet => bytes32 account) public accountOf;
    /// @notice A request that waits for its delay.
    mapping(bytes32 account => PendingBind request) public pendingBind;
    /// @notice The nonce that the account's next bind signature must carry. Each accepted request uses one up.
    mapping(bytes32 account => uint256 nonce) public bindNonce;

    event BindRequested(bytes32 indexed account, address indexed wallet, uint256 readyAt);
    event BindCancelled(bytes32 indexed account, address indexed wallet, address by);
    event Bound(bytes32 indexed account, address indexed wallet);
    event Unbound(bytes32 indexed account, address indexed wallet);

    error AlreadyBound(bytes32 account, address wallet);
    error BindAlreadyPending(bytes32 account);
    error NoBindPending(bytes32 account);
    error BindTooEarly(uint256 readyAt);
    error BindSignatureExpired(uint256 deadline);
    error BadBindSignature();
    error NotTheWallet(bytes32 account, address caller);

    constructor(uint48 delay) {
        bindDelay = delay;
    }

    function _requestBind(bytes32 account, address wallet, uint256 deadline, bytes calldata signature) internal {
        if (walletOf[account] != address(0) || accountOf[wallet] != 0) revert AlreadyBound(account, wallet);
        if (pendingBind[account].wallet != address(0)) revert BindAlreadyPending(account);
        if (block.timestamp > deadline) revert BindSignatureExpired(deadline);
        bytes32 digest =
            _hashTypedDataV4(keccak256(abi.encode(BIND_TYPEHASH, account, wallet, bindNonce[account]++, deadline)));
        if (!SignatureChecker.isValidSignatureNow(wallet, digest, signature)) revert BadBindSignature();
        uint48 readyAt = uint48(block.timestamp) + bindDelay;
        pendingBind[account] = PendingBind(wallet, readyAt);
        emit BindRequested(account, wallet, readyAt);
    }

    function _cancelBind(bytes32 account) internal {
        emit BindCancelled(account, _takePending(account).wallet, msg.sender);
    }

    function _finalizeBind(bytes32 account) internal {
        PendingBind memory request = _takePending(account);
        if (block.timestamp < request.readyAt) revert BindTooEarly(request.readyAt);
        if (accountOf[request.wallet] != 0) revert AlreadyBound(account, request.wallet);
        walletOf[account] = request.wallet;
        accountOf[request.wallet] = account;
        emit Bound(account, request.wallet);
    }

    function _unbind(bytes32 account) internal {
        _requireWallet(account);
        delete walletOf[account];
        delete accountOf[msg.sender];
        emit Unbound(account, msg.sender);
    }

    function _requireWallet(bytes32 account) internal view {
        if (msg.sender != walletOf[account]) revert NotTheWallet(account, msg.sender);
    }

    function _takePending(bytes32 account) private returns (PendingBind memory request) {
        request = pendingBind[account];
        if (request.wallet == address(0)) revert NoBindPending(account);
        delete pendingBind[account];
    }
}
